/** Entry point of the process that matches a repository's own rules: it gets texts and rules, and may do nothing but answer. */
import { createRuleMatcher, type RuleAnswer, RuleTask } from "../tasks/rules/analyzers/match-rule.ts";
import { liveForParent } from "./parent-port.ts";

const send = (answer: RuleAnswer) => process.send?.(answer);
// The parent reads from the end of this process that it failed.
liveForParent(() => process.exit(1), 0);

const answer = await createRuleMatcher();
process.on("message", (raw) => send(answer(RuleTask.parse(raw))));
send({ type: "ready" });
