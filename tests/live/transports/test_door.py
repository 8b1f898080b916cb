"""Who waits at the door, and who must go."""

from cobandit.live.transports.door import MAX_UNPROVED, Door, host_of


def test_one_host_takes_no_place_from_another() -> None:
    away: list[tuple[str, str]] = []
    door = Door[str](lambda visitor, host: away.append((visitor, host)))
    door.come("ann", "10.0.0.1")
    for number in range(10 * MAX_UNPROVED):
        door.come(f"eve {number}", "10.0.0.66")
    door.come("bob", "10.0.0.2")
    expected = 10 * MAX_UNPROVED - MAX_UNPROVED + 2
    assert away == [(f"eve {number}", "10.0.0.66") for number in range(expected)]
    assert len(door) == MAX_UNPROVED


def test_of_as_many_hosts_as_places_the_oldest_goes() -> None:
    away: list[int] = []
    door = Door[int](lambda visitor, _: away.append(visitor))
    for number in range(MAX_UNPROVED + 2):
        door.come(number, f"10.0.{number // 256}.{number % 256}")
    assert away == [0, 1]


def test_who_has_proved_its_name_has_left_and_nobody_must_go_for_it() -> None:
    away: list[int] = []
    door = Door[int](lambda visitor, _: away.append(visitor))
    for number in range(10 * MAX_UNPROVED):
        door.come(number, "10.0.0.1")
        door.leave(number)
    assert (away, len(door)) == ([], 0)


def test_a_network_of_version_6_is_one_host_and_version_4_in_it_is_itself() -> None:
    assert host_of("2001:db8:0:1::7") == host_of("2001:db8:0:1:ffff::7%eth0") != host_of("2001:db8:0:2::7")
    assert host_of("::ffff:10.0.0.1") == "10.0.0.1"
    assert host_of("a socket") == "a socket"
