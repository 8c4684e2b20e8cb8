"""What is a secret in a recording, or says whose it is: by its shape, its key, its header.

Data and nothing else. A shape is matched anywhere in a text; a key and a header name the values
that are taken out whole and then looked for everywhere. Each pattern is bounded, so that no text
takes more than linear time.
"""

from __future__ import annotations

import re

from faultclock.model.secrets import NAMED_SECRETS

#: Kind to the shape of such values. The first that matches at a place names it.
SHAPES: tuple[tuple[str, str], ...] = (
    ("key", r"-----BEGIN [A-Z ]{1,40}-----[^-]{0,20000}(?:-----END [A-Z ]{1,40}-----)?"),
    ("token", r"\beyJ[A-Za-z0-9_-]{6,4000}\.[A-Za-z0-9_-]{4,8000}(?:\.[A-Za-z0-9_-]{1,4000})?"),
    ("token", r"\b(?:Bearer|Basic|Token)\s+[A-Za-z0-9._~+/=-]{5,8000}[A-Za-z0-9_~+/=-]"),
    (
        "key",
        r"(?<![A-Za-z0-9])(?:sk|pk|rk|xai|pplx|gsk|hf|ghp|gho|ghs|ghu|github_pat|glpat|r8|nvapi"
        r"|fw|csk|voyage|pa|xox[abeprs]|lsv2|tvly|sess|ak|dop_v1|npm|pypi)[-_]"
        r"[A-Za-z0-9_*.-]{6,400}[A-Za-z0-9_*-]",
    ),
    ("key", r"\bAIza[A-Za-z0-9_-]{20,100}"),
    ("key", r"\bya29\.[A-Za-z0-9_.-]{8,2000}"),
    ("key", r"\b(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA)[A-Z0-9]{12,24}\b"),
    ("account", r"\barn:aws[a-z-]{0,12}:[^\s\"'<>,;)\]}]{4,300}[^\s\"'<>,;)\]}.]"),
    (
        "person",
        r"(?<![A-Za-z0-9.!#$%&*+/=?^_`{|}~-])[A-Za-z0-9.!#$%&*+/=?^_`{|}~-]{1,64}"
        r"@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
    ),
    (
        "id",
        r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}"
        r"-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])",
    ),
    ("req", r"(?<![A-Za-z0-9])req[_-][A-Za-z0-9]{6,100}"),
    ("org", r"(?<![A-Za-z0-9])org[_-][A-Za-z0-9]{4,100}"),
    ("project", r"(?<![A-Za-z0-9])proj[_-][A-Za-z0-9]{4,100}"),
    ("user", r"(?<![A-Za-z0-9])user[_-](?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{4,100}"),
    ("account", r"(?<![A-Za-z0-9])acct[_-][A-Za-z0-9]{4,100}"),
    (
        "id",
        r"(?<![A-Za-z0-9])(?:chatcmpl|cmpl|msg|resp|run|thread|asst|call|toolu|file|batch|gen"
        r"|ftjob|fc|rs|conv|item|srvtoolu|tooluse|wrkspc|workspace)[_-]"
        r"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{8,100}",
    ),
    (
        "ip",
        r"(?<![0-9A-Za-z.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
        r"(?![0-9A-Za-z]|\.[0-9])",
    ),
    (
        "ip",
        r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){3,7}(?::?[0-9A-Fa-f]{1,4}){1,5}(?![0-9A-Za-z:])",
    ),
    (
        "ip",
        r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}:?){1,6}(?![0-9A-Za-z:])",
    ),
    # Long runs without a word in them: hashes, signatures, cookies, and keys of unknown makers.
    ("token", r"(?<![A-Za-z0-9])[0-9a-f]{24,8000}(?![A-Za-z0-9])"),
    (
        "token",
        r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,60}[0-9])(?=[a-z0-9]{0,60}[A-Z])(?=[A-Z0-9]{0,60}[a-z])"
        r"[A-Za-z0-9]{20,8000}[A-Za-z0-9_=-]{0,8000}",
    ),
    (
        "key",
        r"(?<![A-Za-z0-9/+=])(?=[A-Za-z/+]{0,40}[0-9])(?=[a-z0-9/+]{0,40}[A-Z])"
        r"(?=[A-Z0-9/+]{0,40}[a-z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    ),
    ("account", r"(?<![\dA-Za-z.-])\d{12}(?![\dA-Za-z.-])"),
)

#: Kind to what, in a text, stands behind a word that says what it is.
UNSAID: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "project",
        re.compile(r"(?<=\bprojects/)[A-Za-z0-9][A-Za-z0-9:._-]{0,100}"),
    ),
    (
        "project",
        re.compile(
            r"(?i:\b(?:project_number|project number|consumer|project)[: ]{1,2}'?\"?)"
            r"(\d{5,20}|[a-z][a-z0-9-]{4,40}-\d{3,12})"
        ),
    ),
    (
        "org",
        re.compile(
            r"(?i:\b(?:organization|organisation|workspace|tenant|team|account)(?: id)?[:=]? "
            r"{0,2}[`'\"(]?)((?=[A-Za-z_.-]{0,60}[\d-])[A-Za-z0-9][A-Za-z0-9_.-]{3,80})"
        ),
    ),
    # The folder of a person, as tracebacks and proxies tell it; JSON may double the backslashes.
    (
        "user",
        re.compile(
            r"(?:/(?:home|Users)/|\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))"
            r"([^\s/\\:;,'\"`<>()]{1,64})"
        ),
    ),
    # Cloudflare's pages have it in an element of its own.
    (
        "req",
        re.compile(r"(?i:\bray id:?\s{0,3}(?:<[^<>]{0,100}>\s{0,3}){0,2})([0-9a-f]{16})\b"),
    ),
    # A fine-tuned model is named for the organisation that had it made.
    (
        "org",
        re.compile(
            r"\bft:[A-Za-z0-9._-]{1,60}:{1,3}([A-Za-z0-9](?:[A-Za-z0-9:._-]{0,240}[A-Za-z0-9])?)"
        ),
    ),
    *(("key", pattern) for pattern in NAMED_SECRETS),
)

#: Headers, in lower case, to the kind of what they hold. None of them is ever written.
HEADERS: dict[str, str] = {
    "api-key": "key",
    "apim-request-id": "req",
    "authorization": "key",
    "cf-aig-authorization": "key",
    "cf-connecting-ip": "ip",
    "cf-ray": "req",
    "chatgpt-account-id": "account",
    "cookie": "cookie",
    "helicone-auth": "key",
    "idempotency-key": "req",
    "ocp-apim-subscription-key": "key",
    "openai-organization": "org",
    "openai-project": "project",
    "anthropic-organization-id": "org",
    "portkey-api-key": "key",
    "proxy-authorization": "key",
    "request-id": "req",
    "set-cookie": "cookie",
    "traceparent": "req",
    "true-client-ip": "ip",
    "x-amz-security-token": "key",
    "x-amzn-requestid": "req",
    "x-amzn-trace-id": "req",
    "x-api-key": "key",
    "x-auth-token": "key",
    "x-client-ip": "ip",
    "x-client-request-id": "req",
    "x-cloud-trace-context": "req",
    "x-correlation-id": "req",
    "x-forwarded-for": "ip",
    "x-generation-id": "req",
    "x-goog-api-key": "key",
    "x-goog-user-project": "project",
    "x-groq-id": "req",
    "x-kong-request-id": "req",
    "x-ms-client-request-id": "req",
    "x-ms-deployment-name": "resource",
    "x-ms-request-id": "req",
    "x-organization": "org",
    "x-real-ip": "ip",
    "x-request-id": "req",
    "x-session-id": "session",
    "x-user-id": "user",
    "amz-sdk-invocation-id": "req",
}

#: Keys of JSON objects, without what is no letter or digit, to the kind of their values.
KEYS: dict[str, str] = {
    "accesskey": "key",
    "accesskeyid": "key",
    "account": "account",
    "accountid": "account",
    "apikey": "key",
    "authorization": "key",
    "clientip": "ip",
    "consumer": "project",
    "containerinfo": "project",
    "cookie": "cookie",
    "credential": "key",
    "credentials": "key",
    "email": "person",
    "id": "id",
    "ip": "ip",
    "ipaddress": "ip",
    "login": "user",
    "org": "org",
    "organisation": "org",
    "organization": "org",
    "organizationname": "org",
    "orgname": "org",
    "password": "key",
    "project": "project",
    "projectname": "project",
    "projectnumber": "project",
    "remoteip": "ip",
    "resourcename": "resource",
    "secret": "key",
    "secretkey": "key",
    "securitytoken": "key",
    "signature": "key",
    "team": "org",
    "tenant": "org",
    "token": "key",
    "user": "user",
    "useremail": "person",
    "useridentifier": "user",
    "username": "user",
    "workspace": "org",
}

#: Ends of such keys, of which there are more than a list can hold.
KEY_ENDS: tuple[tuple[str, str], ...] = (
    ("accountid", "account"),
    ("apikey", "key"),
    ("correlationid", "req"),
    ("customerid", "user"),
    ("email", "person"),
    ("generationid", "req"),
    ("invocationid", "req"),
    ("orgid", "org"),
    ("organizationid", "org"),
    ("password", "key"),
    ("projectid", "project"),
    ("requestid", "req"),
    ("responseid", "id"),
    ("secret", "key"),
    ("sessionid", "session"),
    ("spanid", "req"),
    ("subscriptionid", "account"),
    ("tenantid", "org"),
    ("threadid", "id"),
    ("token", "key"),
    ("traceid", "req"),
    ("userid", "user"),
    ("workspaceid", "org"),
)

#: Parameters of a URL to the kind of what they hold.
PARAMETERS: dict[str, str] = {
    "access_token": "key",
    "api-key": "key",
    "api_key": "key",
    "apikey": "key",
    "auth": "key",
    "code": "key",
    "key": "key",
    "sig": "key",
    "signature": "key",
    "token": "key",
    "user": "user",
    "x-amz-credential": "key",
    "x-amz-security-token": "key",
    "x-amz-signature": "key",
    "x-goog-credential": "key",
    "x-goog-signature": "key",
}

#: Kind to what of a URL's path names a person.
PATHS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("project", re.compile(r"/projects/([^/?#:]{1,100})")),
    ("account", re.compile(r"/(?:accounts|subscriptions)/([^/?#]{1,100})")),
    ("resource", re.compile(r"(?i:/(?:resourcegroups|deployments))/([^/?#]{1,100})")),
    ("org", re.compile(r"/(?:organizations|orgs|teams|tenants|workspaces)/([^/?#]{1,100})")),
    ("user", re.compile(r"/users?/([^/?#]{1,100})")),
)

#: Ends of hosts whose first label a customer has chosen.
HOST_LABELS = (
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
    ".inference.ai.azure.com",
    ".models.ai.azure.com",
    ".azure-api.net",
    ".endpoints.huggingface.cloud",
    ".cloud.databricks.com",
    ".gateway.ai.cloudflare.com",
)

#: Headers of responses whose values say nothing of anybody: what frames them, when they came, and
#: what they say of limits.
CAME_OPENLY = re.compile(
    r"accept-ranges|age|allow|alt-svc|cache-control|connection|content-[a-z0-9-]+|date|expires"
    r"|keep-alive|last-modified|pragma|server|transfer-encoding|upgrade|vary"
    r"|retry-after(?:-ms)?|x-should-retry|x-amz-retry-after|x-ms-retry-after-ms|x-amzn-errortype"
    r"|x-ms-error-code|www-authenticate|(?:[a-z]+-)*ratelimit-[a-z0-9-]+|openai-(?:processing-ms|version)|x-envoy-[a-z-]+"
    r"|server-timing|x-content-type-options|x-frame-options|x-xss-protection"
)
