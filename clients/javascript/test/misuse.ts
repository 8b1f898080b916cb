/** What must not compile: every line that says so, and no other. */

import { Tacit } from "../tacit.js";

new Tacit({}); // wrong
new Tacit({ token: 7 }); // wrong
const tacit = new Tacit({ token: "from a file" });
await tacit.select({ subjekt: "visitor-17" }); // wrong
await tacit.select("visitor-17"); // wrong
const decision = await tacit.select();
await tacit.update(decision, "1"); // wrong
await tacit.update(decision); // wrong
await tacit.updateMany([{ id: decision.id }]); // wrong
decision.arm = "red"; // wrong
const certain: number = decision.propensity; // wrong
console.log(certain, (await tacit.statistics()).decision); // wrong
