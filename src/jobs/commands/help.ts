import type { Outcome } from "../../queue/job.ts";
import { commandRules, renderCommandTable } from "../../publish/answers.ts";
import { type Asked, answered } from "./command-context.ts";

/** Tells of all commands. */
export function help(asked: Asked): Promise<Outcome> {
  return answered(asked, `${renderCommandTable()}\n\n${commandRules}`, "told of the commands");
}
