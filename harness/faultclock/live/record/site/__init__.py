"""A folder for PYTHONPATH that holds one module, `sitecustomize`; it is no package of ours."""
