import { namedCommands } from "../config/repo-config.ts";
import type { FixInput } from "../review/fix/fix-input.ts";
import type { FixCommands } from "../review/fix/tried-commands.ts";
import { createCommandPort } from "../sandbox/command-port.ts";
import { limitsFor } from "../sandbox/limits.ts";
import type { CommandFiles } from "../sandbox/workspace-files.ts";
import type { FixSandbox } from "./fix-sandbox.ts";

/** What runs the commands that the base's configuration names, on these files; or why nothing does, for people. */
export function fixCommands(
  { config }: Pick<FixInput, "config">,
  given: FixSandbox | null,
  files: Pick<CommandFiles, "workspace" | "isPrivate">,
): FixCommands {
  const allowed = namedCommands(config);
  if (Object.keys(allowed).length === 0) return { why: "the configuration of the base names none" };
  if (given === null) return { why: "there is no sandbox here to run one in" };
  const { sandbox, memoryMb } = given;
  return {
    open: (edit) => createCommandPort({ ...files, sandbox, allowed, edit, limits: limitsFor(memoryMb) }),
  };
}
