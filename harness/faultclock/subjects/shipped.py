"""The subjects that come with Faultclock, as a list that can be read without importing one."""

from __future__ import annotations

from faultclock.subjects.clients.catalog import CLIENTS
from faultclock.subjects.shipped_entry import Shipped

#: Titles are repeated from the bindings: a list must not import every runtime.
_REFERENCES = {
    "reference-common": Shipped(
        "agents.adapter_common:reference_common",
        "Correct adapter by the common demands, async",
        model="common",
    ),
    "reference-common-passing-on": Shipped(
        "agents.adapter_common:reference_common_passing_on",
        "Correct adapter by the common demands that passes on what arrives, async",
        model="common",
    ),
    "reference-common-sync": Shipped(
        "agents.adapter_common:reference_common_sync",
        "Correct adapter by the common demands, blocking",
        model="common",
    ),
    "reference": Shipped(
        "agents.adapter:reference", "Correct stud-cli adapter without an SDK, async"
    ),
    "reference-sync": Shipped(
        "agents.adapter:reference_sync", "Correct stud-cli adapter without an SDK, blocking"
    ),
    "reference-own-policy": Shipped(
        "agents.adapter:reference_own_policy",
        "Correct stud-cli adapter with a retry policy that it declares",
    ),
    "reference-runtime": Shipped(
        "agents.stud_cli.runtime:reference_runtime",
        "Correct agent runtime of the stud-cli model, async",
        role="runtime",
    ),
    "reference-relavium": Shipped(
        "agents.relavium:reference_relavium",
        "Correct agent runtime of the Relavium model, async",
        role="runtime",
        model="relavium",
    ),
    "reference-afk": Shipped(
        "agents.afk:reference_afk",
        "Correct agent runtime of the AFK model, async",
        role="runtime",
        model="afk",
    ),
    "reference-kode-sdk": Shipped(
        "agents.kode:reference_kode",
        "Correct agent runtime of the KODE SDK model, async",
        role="runtime",
        model="kode-sdk",
    ),
    "reference-error-matrix": Shipped(
        "agents.matrix:reference_matrix",
        "Correct agent runtime of the Error Handling Matrix model, async",
        role="runtime",
        model="error-matrix",
    ),
    "reference-tool": Shipped(
        "agents.tool:reference_tool", "Correct tool that asks a web service, async", role="tool"
    ),
    "reference-tool-sync": Shipped(
        "agents.tool:reference_tool_sync",
        "Correct tool that asks a web service, blocking",
        role="tool",
    ),
    "reference-acting-tool": Shipped(
        "agents.tool:reference_acting_tool",
        "Correct tool that changes something at a web service, async",
        role="tool",
        model="common",
    ),
    "reference-extension": Shipped(
        "agents.extension:reference_extension",
        "Correct extension with a background beat, async",
        role="extension",
    ),
    "reference-extension-sync": Shipped(
        "agents.extension:reference_extension_sync",
        "Correct extension with a background beat, blocking",
        role="extension",
    ),
    "reference-store": Shipped(
        "agents.store:reference_store",
        "Correct session store on files, blocking",
        role="session_store",
    ),
    "reference-store-async": Shipped(
        "agents.store:reference_store_async",
        "Correct session store on files, async",
        role="session_store",
    ),
}

#: By id, in the order in which they are listed.
SHIPPED = {**_REFERENCES, **CLIENTS}
