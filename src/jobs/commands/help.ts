import type { JobOutcome } from "../../queue/job.ts";
import { commandRules, renderCommandTable } from "../../reporters/command-table.ts";
import { type Asked, answered } from "./asked.ts";

/** Tells of all commands. */
export function help(asked: Asked): Promise<JobOutcome> {
  return answered(asked, `${renderCommandTable()}\n\n${commandRules}`, "told of the commands");
}
