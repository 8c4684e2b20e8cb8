"""What is secret goes, what is equal stays equal, and what explains the failure stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.load.located.tree import Place
from faultclock.recordings.exchange import Exchange
from faultclock.recordings.scrub import Scrubber, neutral_text
from tests.recordings.planted import CONTEXTUAL, SHAPED

HERE = Place(1, 1)


def exchange(
    url: str = "https://api.openai.com/v1/chat/completions",
    asked: dict[str, str] | None = None,
    told: dict[str, str] | None = None,
    sent: bytes | None = None,
    body: bytes | None = None,
) -> Exchange:
    """Return an exchange with these parts."""
    return Exchange(
        method="POST",
        url=url,
        request_headers=tuple((asked or {}).items()),
        request_body=sent,
        status=400,
        response_headers=tuple((told or {}).items()),
        response_body=body,
        place=HERE,
        headers_place=HERE,
        body_place=HERE,
    )


def taught(*exchanges: Exchange) -> Scrubber:
    """Return a scrubber that has seen these."""
    scrubber = Scrubber()
    for item in exchanges:
        scrubber.learn(item)
    return scrubber


@pytest.mark.parametrize("secret", SHAPED[:-1])
@pytest.mark.parametrize("sentence", ["{}", "It failed for {}, sorry.", "('{}')", '{{"a":"{}"}}'])
def test_a_secret_is_known_by_its_shape(secret: str, sentence: str) -> None:
    """Wherever it stands in a text, and nobody having pointed at it."""
    shown = Scrubber().text(sentence.format(secret))
    assert secret not in shown
    assert re.search(r"[a-z]+_scrubbed1", shown)


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdef0123456789",
        "AWS secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYz9z8z7z6z5",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----",
        "ghp_0123456789abcdefghij0123456789abcdef",
        "Incorrect API key provided: topsecretvalue.",
        "https://example.com/x?key=topsecretvalue&a=b",
        "see https://example.com/x?access_token=topsecretvalue&a=b",
        "the gateway said access_token=topsecretvalue",
        """the gateway said {"password": "topsecretvalue"}""",
        """the gateway said {'clientSecret': 'topsecretvalue'}""",
        r"""{"said": "{\"db_password\": \"topsecretvalue\"}"}""",
        "<p>Cloudflare Ray ID: <strong class='x'>7d0c1f2e3d4a5b6c</strong>",
        "Rate limit reached for ft:gpt-4o:topsecret:tickets:8AbCdEfG in this minute.",
        "Rate limit reached for ft:gpt-4o:topsecret.",
        "session 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/mine",
    ],
)
def test_other_shapes_are_known_too(text: str) -> None:
    """Keys of other makers, private keys, tokens in URLs, long hashes, names of cloud resources."""
    shown = Scrubber().text(text)
    assert "scrubbed1" in shown
    assert "topsecret" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt-4o-mini on requests per min (RPM): Limit 3, Used 3.",
        "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
        "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/",
        "Please try again in 1m26.4s. Visit https://platform.openai.com/account/rate-limits.",
        "messages.0: Input does not match the expected shape.",
        "Your organization has been disabled.",
        "type.googleapis.com/google.rpc.QuotaFailure",
        "prompt is too long: 210042 tokens > 200000 maximum",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        """{'max_tokens': 4096000, 'token': None, "credentials": []}""",
        "max_tokens: expected an integer",
    ],
)
def test_what_explains_a_failure_stays(text: str) -> None:
    """Names of models and limits, numbers, durations and addresses of documentation."""
    assert Scrubber().text(text) == text


def test_equal_values_become_equal_words_and_others_do_not() -> None:
    """Two answers of one request can still be told to be that."""
    shown = Scrubber().text("req_0123456789 req_abcdefghij1 req_0123456789")
    assert shown == "req_scrubbed1 req_scrubbed2 req_scrubbed1"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (exchange(asked={"openai-organization": "planted-org"}), "in planted-org today"),
        (exchange(asked={"authorization": "Bearer not-like-a-key"}), "the key not-like-a-key"),
        (exchange(asked={"x-my-api-key": "letmeinplease"}), "with letmeinplease"),
        (exchange(asked={"cookie": "a=oatmeal; b=chocolate"}), "oatmeal and chocolate"),
        (exchange(told={"x-request-id": "abcd-42"}), "request abcd-42 failed"),
        (exchange(told={"set-cookie": "cf=oatmeal; path=/"}), "oatmeal"),
        (exchange(url="https://mine.openai.azure.com/openai/x"), "resource MINE is busy"),
        (exchange(url="https://x.googleapis.com/v1/projects/my-thing/x"), "in my-thing"),
        (exchange(url="https://a.example/?key=sesame42"), "sesame42"),
        (exchange(url="https://llm.corp.example/v1"), "sorry, llm.corp.example is down"),
        (exchange(url="https://anna:sesame42@a.example/"), "sesame42 of anna"),
        (exchange(sent=b'{"user": "anna.k"}'), "for anna.k"),
        (
            exchange(
                asked={"content-type": "application/x-www-form-urlencoded"},
                sent=b"grant_type=x&client_secret=sesame+seed",
            ),
            "the secret sesame seed is wrong",
        ),
        (exchange(body=b'{"error": {"request_id": "zzzz9"}}'), "see zzzz9"),
        (exchange(sent=b'{"metadata": [{"customerId": "c-17"}]}'), "customer c-17"),
        (
            exchange(asked={"authorization": "AWS4-HMAC-SHA256 Credential=WHOAMI/2026/x, b=c"}),
            "WHOAMI/2026/x and WHOAMI",
        ),
    ],
)
def test_what_an_exchange_names_is_looked_for_everywhere(item: Exchange, text: str) -> None:
    """Headers, URLs and the keys of bodies say what is a secret; a sentence repeats it."""
    shown = taught(item).text(text)
    assert "scrubbed1" in shown
    for word in ("planted", "not-like", "letmein", "oatmeal", "abcd-42", "MINE", "my-thing"):
        assert word not in shown
    for word in ("sesame", "corp.example", "anna", "zzzz9", "c-17", "WHOAMI"):
        assert word not in shown


def test_a_learnt_value_is_a_word_of_its_own() -> None:
    """A short name of an organisation is not cut out of the middle of another word."""
    scrubber = taught(exchange(asked={"openai-organization": "rate"}))
    assert scrubber.text("a moderate rate") == "a moderate org_scrubbed1"


@pytest.mark.parametrize("value", ["default", "REDACTED", "<scrubbed>", "X-API-KEY-XXX", "gpt-4o"])
def test_what_names_nobody_is_not_learnt(value: str) -> None:
    """What a recorder has put in place of a secret, and a deployment called as its model is."""
    url = f"https://a.openai.azure.com/openai/deployments/{value}/chat/completions"
    scrubber = taught(exchange(url=url, asked={"api-key": value}))
    assert scrubber.text(f"about {value} here") == f"about {value} here"


def test_values_under_telling_keys_go_whole() -> None:
    """Also numbers, and equal ones stay equal; what has no value stays that."""
    scrubber = Scrubber()
    body = {
        "error": {"message": "no", "code": "x", "param": None},
        "user_id": "u1",
        "requestId": "u1",
        "account_id": 4711,
        "nested": [{"email": "a"}, {"session_id": None}],
    }
    assert scrubber.value(body) == {
        "error": {"message": "no", "code": "x", "param": None},
        "user_id": "user_scrubbed1",
        "requestId": "req_scrubbed1",
        "account_id": 1,
        "nested": [{"email": "person_scrubbed1"}, {"session_id": None}],
    }


def test_a_quoted_prompt_is_taken_out_of_an_error() -> None:
    """Some providers repeat what was asked; without --keep-texts that is not written."""
    asked = b'{"messages": [{"role": "user", "content": "Tell me about Anna, please."}]}'
    scrubber = taught(exchange(sent=asked))
    message = "Bad content: Tell me about Anna, please."
    assert scrubber.text(message, texts_kept=False) == "Bad content: (a recorded text)"
    assert scrubber.text(message) == message


def test_headers_with_secrets_are_left_out() -> None:
    """The others are scrubbed as texts."""
    headers = {"authorization": "x", "retry-after": "3", "x-note": "of a@b.example"}
    assert Scrubber().headers(headers) == {"retry-after": "3", "x-note": "of person_scrubbed1"}


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("mine.openai.azure.com", "resource-scrubbed1.openai.azure.com"),
        ("api.groq.com", "api.groq.com"),
        ("203.0.113.9", "ip-scrubbed1.example.com"),
    ],
)
def test_a_host_names_its_provider_and_not_its_customer(host: str, shown: str) -> None:
    """The result is a host again."""
    assert Scrubber().host(host) == shown


def test_a_neutral_text_tells_length_and_digest_alone() -> None:
    """Equal prompts can be told to be equal."""
    shown = neutral_text("Who is Anna?", "prompt")
    assert re.fullmatch(r"A recorded prompt of 12 characters, sha256 [0-9a-f]{12}\.", shown)


@given(
    st.lists(
        st.sampled_from([*SHAPED, *CONTEXTUAL]) | st.text(max_size=20), min_size=1, max_size=6
    ),
    st.sampled_from([" ", ", ", "\n", '"', "/"]),
)
def test_scrubbing_twice_is_scrubbing_once(parts: list[str], between: str) -> None:
    """A placeholder is no secret, whatever stands beside it."""
    scrubber = Scrubber()
    once = scrubber.text(between.join(parts))
    assert scrubber.text(once) == once


@given(st.text(max_size=400), st.sampled_from(SHAPED[:-1]), st.text(max_size=400))
def test_no_neighbour_hides_a_secret(before: str, secret: str, after: str) -> None:
    """With a blank around it, it is found in any text."""
    assert secret.lower() not in Scrubber().text(f"{before} {secret} {after}").lower()


def test_what_a_request_shows_under_an_unknown_name_is_learnt() -> None:
    """A gateway has a header of its own, and its error quotes what stands there."""
    item = exchange(asked={"x-team-gate": "hunter2hunter2", "x-stainless-lang": "python3"})
    shown = taught(item).text("x-team-gate hunter2hunter2 is wrong, says python3")
    assert "hunter2" not in shown
    assert "python3" in shown


def test_the_fields_of_a_form_that_was_taken_apart_are_learnt() -> None:
    """HAR files keep them beside the text of the body."""
    item = replace(exchange(sent=b"{}"), fields=(("client_secret", "hunter2hunter2"),))
    assert "hunter2" not in taught(item).text("the secret hunter2hunter2 is wrong")


#: With a slash before them no file of the project may name these: it would be a path of some
#: machine.
_HOME, _USERS = "home", "Users"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"in /{_HOME}/me/agent.py, line 3", f"in /{_HOME}/user_scrubbed1/agent.py, line 3"),
        (r"C:\Users\Anna\x.py", r"C:\Users\user_scrubbed1\x.py"),
        (r"C:\\Users\\Anna\\x.py", r"C:\\Users\\user_scrubbed1\\x.py"),
        (f"/{_USERS}/me", f"/{_USERS}/user_scrubbed1"),
        ("see /v1/users and home/anna", "see /v1/users and home/anna"),
    ],
)
def test_the_folder_of_a_person_names_no_person(text: str, shown: str) -> None:
    """Proxies and local servers give back paths of the machine that they run on."""
    assert Scrubber().text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Wrong api key: Zx9-foo_bar12. Try again.", "Wrong api key: key_scrubbed1. Try again."),
        ("Bearer abcdef123456. Next", "Bearer key_scrubbed1. Next"),
        (
            "No arn:aws:bedrock:eu-1:123456789012:model/x. Try",
            "No account_scrubbed1. Try",
        ),
        ("Is the token: abcdef12345? No.", "Is the token: key_scrubbed1? No."),
    ],
)
def test_what_ends_a_sentence_stays_behind_a_secret(text: str, shown: str) -> None:
    """The message is written as it was, but for the secret."""
    assert Scrubber().text(text) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("xai_grok.yaml", "xai_grok.yaml"),
        ("test_xai_grok_4_basic.yaml", "test_xai_grok_4_basic.yaml"),
        ("req_timeout-2.yaml", "req_timeout-2.yaml"),
        ("org_members_20240718.har", "org_members_20240718.har"),
        ("sk-proj-abcdefgh12345678", "key_scrubbed1"),
        ("sk-live-abcdefghijklmnopqrstuvw", "key_scrubbed1"),
        ("anna@planted.example", "person_scrubbed1"),
        ("77777777-4711-4711-4711-777777777777", "id_scrubbed1"),
    ],
)
def test_the_name_of_a_file_keeps_its_words(name: str, shown: str) -> None:
    """A report names files that there are; a secret in a name goes all the same."""
    assert Scrubber().name(name) == shown


def test_what_the_recording_points_at_goes_out_of_a_name_too() -> None:
    """A customer after whom a cassette is called."""
    item = exchange(asked={"openai-organization": "acme-corp"})
    assert "acme" not in taught(item).name("acme-corp_chat.yaml")


@pytest.mark.parametrize("name", ["access_token", "client_secret", "id-token", "sessionId"])
def test_a_parameter_of_a_url_is_known_by_what_it_is_called(name: str) -> None:
    """It is looked for in every other text then."""
    scrubber = Scrubber()
    scrubber.learn_url(f"https://example.com/v1?{name}=topsecret")
    assert "topsecret" not in scrubber.text("it was topsecret, you see")


def test_what_repeats_a_value_is_no_name_of_a_field() -> None:
    """`param` names a field of the request; a gateway may put there what it was sent."""
    names = ("messages[0].content", "tools.3.function", "temperature", "$.input[2]")
    for name in names:
        assert Scrubber().value({"error": {"param": name}}) == {"error": {"param": name}}
    for value in ("Anna Planted", "hunter2", "messages: where is Anna"):
        shown = Scrubber().value({"error": {"param": value, "code": "x"}})
        assert shown == {"error": {"param": "param_scrubbed1", "code": "x"}}
