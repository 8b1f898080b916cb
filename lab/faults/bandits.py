"""Fleets of bandits with names over NATS: members are killed and cut off, and bandits come and go, all at once.

In the end every member declares every bandit, and what each has counted in each segment of each must be exact. Windows
are long, so that all of it is inside of them.
"""

from cobandit.live.decide.full_names import split
from lab.faults.fleet import Fleet, Plan
from lab.faults.gateway import Gateway
from lab.faults.named_bandits import BANDITS
from lab.faults.networks import Place
from lab.faults.orders import Order
from lab.faults.verdict import Verdict
from lab.servers import HOST, nats_server


def bandits_nats(plan: Plan) -> Verdict:
    """Kill members, cut some off from the server without a word, declare bandits later, and not again for a while."""
    names = [f"m{number}" for number in range(1, plan.pick(3, 6) + 1)]
    with nats_server() as server, Gateway(server.port) as gateway:
        away = names[: len(names) // 2]
        through = f"nats://{HOST}:{gateway.port}"
        places = {name: Place(through if name in away else server.url) for name in names}
        with Fleet(plan, places) as fleet:
            fleet.declares = {name: fleet.dice.some(tuple(BANDITS), 2) for name in names}
            fleet.start()
            fleet.work(0.5)
            for turn in range(plan.pick(4, 60)):
                name, is_cut = fleet.dice.pick(names), turn % 4 == 1
                if is_cut:
                    gateway.shut()
                    fleet.faults += 1
                    fleet.work(fleet.dice.real(0.5, plan.pick(2, 8)))
                fleet.declares[name] = fleet.dice.some(tuple(BANDITS), fleet.dice.whole(1, len(BANDITS)))
                if turn % 3 == 2:  # while it runs; what it served before, it goes on serving
                    fleet.running[name].order(Order("declare", fleet.declares[name]))
                else:
                    unsure = fleet.kill(name)
                    fleet.faults += 1
                    fleet.work(fleet.dice.real(0.0, 1.0) if turn % 2 else 0.0)
                    fleet.restart(name, unsure)
                if is_cut:
                    gateway.open()
                fleet.work(fleet.dice.scale(0.05, 1.0))
            fleet.each(Order("declare", tuple(BANDITS)))
            origins = [origin for look in fleet.looks().values() for origin in look.origins]
            cells = {tally.arm for origin in origins for tally in origin.tallies}
            segments = {split(arm)[0] for arm in cells}
            return fleet.verdict("bandits-nats", notes=f"{len(cells)} arms in {len(segments)} segments, exact in each")
