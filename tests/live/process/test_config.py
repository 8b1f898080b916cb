"""The file of an agent is read strictly: what is wrong is named by key, value and what is allowed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cobandit.live.auth.keys import issue, make_group
from cobandit.live.process.config import KEYS, as_relay, check_files, check_state, config_from_mapping, read_config
from cobandit.policies import Horizon
from cobandit.policies.registry import BuiltIn
from cobandit.values.errors import LocalError

DOCUMENT = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
LEAST: dict[str, object] = {
    "group": "homepage",
    "name": "memory",
    "url": "nats://n:4222",
    "arms": ["A", "B"],
    "state": "memory.db",
}


def test_paths_are_taken_from_the_folder_of_the_file_and_the_rest_has_defaults(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(
        'group = "homepage"\nname = "memory"\nurl = "nats://n:4222"\narms = ["A", "B"]\nstate = "memory.db"\n',
        encoding="utf-8",
    )
    config = read_config(file)
    assert (config.url, config.log_format, config.metrics, config.catch_up_every) == (
        "nats://n:4222",
        "text",
        None,
        60.0,
    )
    assert config.member == {
        "group": "homepage",
        "fleet": None,
        "name": "memory",
        "arms": ("A", "B"),
        "state": tmp_path / "memory.db",
        "peers": (),
        "keys": None,
        "trust": None,
        "secret": None,
        "secret_file": None,
        "policy": BuiltIn("thompson"),
        "quantum": 1e-6,
        "expire_after": 30 * 24 * 3600.0,
        "forget_after": 24 * 3600.0,
        "default_reward": None,
        "holdout": 0.0,
        "guardrail": None,
        "log_limit": None,
        "snapshot": None,
        "relay": False,
        "relays": None,
        "homes": 1,
        "lease": 120.0,
        "flush_every": 10.0,
        "floors": None,
        "ceilings": None,
    }


def test_every_key_is_taken(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret of sixteen\n", encoding="utf-8")
    (tmp_path / "start").write_bytes(b"")
    config = config_from_mapping(
        {
            **LEAST,
            "url": "udp://0.0.0.0:7000",
            "peers": ["10.0.0.2:7000"],
            "secret_file": "secret",
            "trust": "trust",
            "policy": "thompson",
            "quantum": 0.5,
            "floors": {"A": 0.1},
            "ceilings": {"B": 0.6},
            "expire_after": 60,
            "forget_after": 7200,
            "default_reward": 0.25,
            "holdout": 0.1,
            "guardrail": ["errors", 0.02],
            "log_limit": 10,
            "snapshot": "start",
            "relay": True,
            "lease": 30,
            "flush_every": 2,
            "catch_up_every": 5,
            "log_format": "json",
            "metrics": "127.0.0.1:9100",
        },
        folder=tmp_path,
    )
    assert (config.log_format, config.metrics, config.catch_up_every) == ("json", "127.0.0.1:9100", 5.0)
    assert config.member == {
        "group": "homepage",
        "fleet": None,
        "name": "memory",
        "arms": ("A", "B"),
        "state": tmp_path / "memory.db",
        "peers": ("10.0.0.2:7000",),
        "keys": None,
        "trust": tmp_path / "trust",
        "secret": None,
        "secret_file": tmp_path / "secret",
        "policy": BuiltIn("thompson"),
        "quantum": 0.5,
        "expire_after": 60.0,
        "forget_after": 7200.0,
        "default_reward": 0.25,
        "holdout": 0.1,
        "guardrail": ("errors", 0.02),
        "log_limit": 10,
        "snapshot": tmp_path / "start",
        "relay": True,
        "relays": None,
        "homes": 1,
        "lease": 30.0,
        "flush_every": 2.0,
        "floors": {"A": 0.1},
        "ceilings": {"B": 0.6},
    }
    assert "sixteen" not in repr(config)
    assert config_from_mapping({**LEAST, "secret": ["the new one of them", "the one before it"]}).member["secret"] == (
        "the new one of them",
        "the one before it",
    )


def test_a_leaf_names_its_relays_and_needs_no_address_of_its_own_where_it_dials() -> None:
    named = config_from_mapping({**LEAST, "relays": ["relay-a", "relay-b"], "homes": 2})
    assert (named.member["relays"], named.member["homes"]) == (("relay-a", "relay-b"), 2)
    dialling = config_from_mapping({**LEAST, "url": "tls://", "relays": ["relays.example:7000"]})
    assert (dialling.url, dialling.member["relays"]) == ("tls://", ("relays.example:7000",))


def test_a_member_without_name_and_state_is_lent_a_name() -> None:
    nameless = {key: value for key, value in LEAST.items() if key not in ("name", "state")}
    config = config_from_mapping({**nameless, "relays": ["*"]})
    assert (config.member["name"], config.member["state"]) == (None, None)
    for key in ("name", "state"):
        with pytest.raises(LocalError, match="is missing: it must be a string"):
            config_from_mapping({**nameless, key: "x", "relays": ["*"]})
    with pytest.raises(LocalError, match="name is missing: it must be a string"):
        config_from_mapping(nameless)


def test_a_relay_is_no_leaf_and_computes_no_odds_unless_it_decides() -> None:
    relay = as_relay(config_from_mapping(LEAST))
    assert (relay.member["relay"], relay.member["policy"]) == (True, BuiltIn("ucb"))
    serving = as_relay(config_from_mapping({**LEAST, "listen": "127.0.0.1:0"}))
    assert (serving.member["policy"], serving.serves) == (BuiltIn("thompson"), True)
    assert as_relay(config_from_mapping({**LEAST, "policy": "aae"})).member["policy"] == BuiltIn("aae")
    with pytest.raises(LocalError, match="relay = false, and this command runs a relay: leave the key out"):
        as_relay(config_from_mapping({**LEAST, "relay": False}))
    with pytest.raises(LocalError, match="relays is for leaves, and this command runs a relay: leave the key out"):
        as_relay(config_from_mapping({**LEAST, "relays": ["relay-a"]}))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"nane": "x"}, "nane = 'x' is not a key that cobandit knows: did you mean name?"),
        ({"group": None}, "group is missing: it must be a string"),
        ({"group": 7}, "group must be a string, not 7"),
        ({"name": "web-*"}, "name must be a name without a star: every agent has a file of its own, not 'web-*'"),
        (
            {"url": "http://n"},
            "url must be an address that begins with tls://, nats://, mqtt://, mqtts://, udp://, not 'http://n'",
        ),
        (
            {"url": "nats://[::1"},
            "url must be an address that begins with tls://, nats://, mqtt://, mqtts://, udp://, not 'nats://[::1'",
        ),
        (
            {"url": "memory://x"},
            "url must be an address that begins with tls://, nats://, mqtt://, mqtts://, udp://, not 'memory://x'",
        ),
        ({"relays": []}, "relays must be a list of names or addresses of relays, at least one, not []"),
        ({"relays": "relay-a"}, "relays must be a list of names or addresses of relays, at least one, not 'relay-a'"),
        ({"relays": [7]}, "relays[0] must be a name or an address, not 7"),
        ({"relays": ["a"], "homes": 0}, "homes must be a whole number from 1 to 8, not 0"),
        ({"arms": []}, "arms must be a list of names of arms, at least one, not []"),
        ({"arms": ["A", 2]}, "arms[1] must be a string, not 2"),
        ({"arms": ["A", "A"]}, "arms: arm names must differ, but A is given more than once: rename or remove it"),
        ({"state": None}, "state is missing: it must be a string"),
        (
            {"policy": "best"},
            'policy must be "ucb" or "aae" or "kl-ucb" or "ucb-v" or "thompson" or ',
        ),
        ({"peers": ["here"]}, "peers[0]: the address must be like 10.0.0.1:7000 or [::1]:7000, not 'here'"),
        ({"secret": "x", "secret_file": "y"}, "secret and secret_file are both given: keep one of them"),
        ({"secret_file": "nowhere"}, "secret_file: cannot read nowhere: No such file or directory"),
        ({"secret": 7}, "secret must be a string, or a list of two: the one to send with, and another to accept"),
        ({"secret": ["a secret of a group", 7]}, "secret must be a string, or a list of two: "),
        ({"secret": []}, "secret: a group has one secret, or 2 while one replaces the other"),
        ({"secret": ["a secret of a group"] * 3}, "secret: a group has one secret, or 2 while one replaces the other"),
        ({"secret": ["a secret of a group", "short"]}, "secret: a group's secret needs at least 16 bytes, not 5"),
        ({"quantum": 0.3}, "quantum: quantum 0.3 does not divide a reward of 1 into whole steps: use 1, 0.5, 0.1,"),
        ({"floors": {"C": 0.1}}, "floors.C = 0.1 is not a key that cobandit knows: the keys here are A, B"),
        ({"floors": {"A": 2}}, "floors.A must be a number in [0, 1], not 2"),
        ({"floors": 0.1}, "floors must be a table with shares of decisions by arm, such as { A = 0.1 }, not 0.1"),
        ({"ceilings": {"A": 0.1, "B": 0.1}}, "floors and ceilings: the ceilings of all arms add up to less"),
        ({"forget_after": 600}, "forget_after must be a number of seconds from 1200 on, not 600"),
        ({"expire_after": 0}, "expire_after must be a positive number below 1e+300, not 0"),
        ({"default_reward": 2}, "default_reward must be a number in [0, 1], not 2"),
        ({"guardrail": "errors"}, "guardrail must be a metric and its limit, such as (\"errors\", 0.02), not 'errors'"),
        ({"holdout": 0.6}, "holdout must be a number in [0, 0.5], not 0.6"),
        ({"log_limit": -1}, "log_limit must be a whole number of at least 0, not -1"),
        ({"snapshot": "nowhere"}, "snapshot must be a file that `cobandit snapshot` wrote, not 'nowhere'"),
        ({"catch_up_every": 0}, "catch_up_every must be a positive number below 1e+300, not 0"),
        ({"catch_up_every": 1e9}, "catch_up_every must be a positive number of seconds up to 86400, not 1000000000.0"),
        ({"log_format": "xml"}, 'log_format must be "text" or "json", not \'xml\''),
        ({"metrics": "here"}, "metrics: the address must be like 10.0.0.1:7000 or [::1]:7000, not 'here'"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], complaint: str) -> None:
    content = {key: value for key, value in {**LEAST, **change}.items() if value is not None}
    with pytest.raises(LocalError) as error:
        config_from_mapping(content)
    assert str(error.value).startswith(complaint)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"group = ", "is not valid TOML: "), (b"\xff", "is not valid TOML: "), (b"", "url is missing: ")],
)
def test_a_file_that_is_none_is_named(content: bytes, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_bytes(content)
    with pytest.raises(LocalError) as error:
        read_config(file)
    assert str(error.value).startswith(f"{file}")
    assert complaint in str(error.value)


def test_a_policy_is_a_name_or_a_table_with_its_parameters(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    least = 'group = "g"\nname = "n"\nurl = "nats://n:4222"\narms = ["A"]\nstate = "n.db"\n'
    for written, policy in {
        'policy = "aae"': BuiltIn("aae"),
        '[policy]\nname = "thompson"': BuiltIn("thompson"),
        "[policy]": BuiltIn("thompson"),
        '[policy]\nname = "ucb"\nalpha = 1.5\nconfidence = "own"': BuiltIn("ucb", 1.5, "own"),
        '[policy]\nname = "klucb"\nconfidence = { horizon = 1000 }': BuiltIn("kl-ucb", None, Horizon(1000)),
    }.items():
        file.write_text(least + written, encoding="utf-8")
        assert read_config(file).member["policy"] == policy


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (
            {"name": "best"},
            'policy.name must be "ucb" or "aae" or "kl-ucb" or "ucb-v" or "thompson" or ',
        ),
        ({"name": "ucb", "alfa": 2}, "policy.alfa = 2 is not a key that cobandit knows: did you mean policy.alpha?"),
        ({"name": "ucb", "alpha": 0}, "policy.alpha must be a positive number"),
        ({"name": "ucb", "confidence": "sure"}, "policy.confidence must be"),
        ({"name": "thompson", "alpha": 2.0}, "policy.alpha = 2.0 is not allowed here: thompson has no parameters"),
        ({"alpha": 2.0}, "policy.alpha = 2.0 is not allowed here: thompson has no parameters"),
        (7, 'policy must be "ucb" or "aae" or "kl-ucb" or "ucb-v" or "thompson" or "normal-thompson", not 7'),
    ],
)
def test_a_policy_that_cannot_be_is_refused_by_its_key(policy: object, error: str) -> None:
    with pytest.raises(LocalError, match=re.escape(error)):
        config_from_mapping({**LEAST, "policy": policy})


@pytest.mark.parametrize("written", ["klucb", "kl-ucb"])
def test_a_policy_may_be_spelled_either_way(written: str) -> None:
    assert config_from_mapping({**LEAST, "policy": written}).member["policy"] == BuiltIn("kl-ucb")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*nowhere\.toml: No such file or directory"):
        read_config(tmp_path / "nowhere.toml")


def test_keys_of_another_member_are_found_before_anything_starts(tmp_path: Path) -> None:
    make_group("homepage", tmp_path)
    issue("other", tmp_path)
    content = {**LEAST, "url": "tls://127.0.0.1:7000", "keys": "other.pem"}
    with pytest.raises(LocalError, match=r"^keys: .*other\.pem proves the name 'other', not 'memory'"):
        check_files(config_from_mapping(content, folder=tmp_path))


@pytest.mark.parametrize(
    ("state", "complaint"),
    [(".", r"^state: .* is a folder: name a state file"), ("/dev/null", "^state: /dev/null is no file: name a state")],
)
def test_a_state_that_is_no_file_is_found_before_anything_starts(state: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=complaint):
        check_state(config_from_mapping({**LEAST, "state": state}, folder=tmp_path))


def test_a_secret_that_is_too_short_is_found_before_anything_starts() -> None:
    with pytest.raises(LocalError, match="a group's secret needs at least"):
        check_files(config_from_mapping({**LEAST, "secret": "short"}))


def test_the_documented_example_is_right() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert config_from_mapping(tomllib.loads(example)).member["name"] == "memory-1"


def test_every_key_is_documented_and_no_other() -> None:
    table = DOCUMENT.split("| Key | Meaning |")[1].split("\n\n")[0]
    named = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert sorted(named) == sorted(KEYS)


def test_metrics_without_their_package_are_found_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(
        'group = "g"\nname = "a"\nurl = "nats://n:4222"\narms = ["A"]\nstate = "a.db"\nmetrics = "127.0.0.1:0"\n',
        encoding="utf-8",
    )
    program = (
        "import sys\nsys.modules['prometheus_client'] = None\nfrom cobandit.cli import main\n"
        f"sys.exit(main(['relay', '--check', {str(file)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "cobandit: metrics: serving metrics needs the extra \"metrics\": pip install 'cobandit[metrics]'\n",
    )


FLEET: dict[str, object] = {"fleet": "shop", "name": "web-1", "url": "nats://n:4222", "state": "web-1.db"}


def test_a_fleet_has_a_table_for_each_bandit() -> None:
    homepage = {"arms": ["A", "B"], "window": "7d", "rewards": [0, 200]}
    config = config_from_mapping({**FLEET, "bandits": {"homepage": homepage, "mail": {"arms": ["X"], "policy": "ucb"}}})
    assert (config.group, config.member["group"], config.member["arms"]) == ("shop", None, None)
    assert config.bandits == {
        "homepage": {"arms": ("A", "B"), "window": "7d", "rewards": (0, 200)},
        "mail": {"arms": ("X",), "policy": "ucb"},
    }


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"arms": ["A"]}, "fleet is given"),
        ({"group": "g"}, "fleet is given"),
        ({"bandits": 3}, "a table for each bandit"),
        ({"bandits": {"home": 3}}, "bandits.home must be a table"),
        ({"bandits": {"home": {}}}, "bandits.home: the arm set is empty"),
        ({"bandits": {"home": {"arms": ["A"], "windo": "1h"}}}, "did you mean bandits.home.window"),
        ({"bandits": {"home": {"arms": ["A"], "window": "1s"}}}, "bandits.home: window must be at least 10 seconds"),
    ],
)
def test_the_file_of_a_fleet_that_cannot_be_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(LocalError, match=re.escape(words)):
        config_from_mapping({**FLEET, **more})


def test_a_group_has_no_bandits_with_names() -> None:
    with pytest.raises(LocalError, match="fleet = "):
        config_from_mapping({**LEAST, "bandits": {"home": {"arms": ["A"]}}})


def test_a_key_of_another_kind_of_file_is_not_taken_for_one_of_ours() -> None:
    with pytest.raises(LocalError, match=r"^horizon = 80 is not a key that cobandit knows: the keys here are group, "):
        config_from_mapping({"horizon": 80})
