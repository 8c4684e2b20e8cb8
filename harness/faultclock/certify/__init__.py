"""Certificates: a claim of conformance that anybody can check offline.

    keys        a pair of ed25519 keys, in files
    trees       the digest of a tree of files
    archives    what a wheel or an sdist holds
    artifact    what a certificate is about, and whether it is what ran
    contents    which files a certificate consists of, and what is signed
    envelope    the signature: DSSE over canonical JSON
    folder      written whole or not at all; read as if a stranger made it
    making      gives a certificate, or says why not
    intact      is it, byte for byte, what was signed?
    rejudging   does it say what its traces say?
    rerunning   does the subject do what its traces say?
    verifying   the three together

What is needed to sign is installed by `faultclock[certify]`; nothing else imports this room.
"""
