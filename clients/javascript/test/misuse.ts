/** What must not compile: every line that says so, and no other. */

import { Cobandit } from "../cobandit.js";

new Cobandit({}); // wrong
new Cobandit({ token: 7 }); // wrong
const cobandit = new Cobandit({ token: "from a file" });
await cobandit.select({ subjekt: "visitor-17" }); // wrong
await cobandit.select("visitor-17"); // wrong
const decision = await cobandit.select();
await cobandit.update(decision, "1"); // wrong
await cobandit.update(decision); // wrong
await cobandit.updateMany([{ id: decision.id }]); // wrong
decision.arm = "red"; // wrong
const certain: number = decision.propensity; // wrong
console.log(certain, (await cobandit.statistics()).decision); // wrong
