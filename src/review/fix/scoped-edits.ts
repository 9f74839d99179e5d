import { AppError } from "../../errors.ts";
import type { EditPort } from "../../tools/tool.ts";
import { type FixScope, reasonByPath, reasonToKeep } from "./check-edits.ts";

/**
 * The files as a fix may change them: what would be refused in the end is refused at once, in words that the model can act on.
 * This saves turns and guards nothing; what leaves the process is judged anew.
 */
export function scopedEdits(files: EditPort, scope: FixScope): EditPort {
  const require = (path: string, reason = reasonByPath(path, scope)) => {
    if (reason === null) return;
    throw new AppError("not_allowed", `'${path}' cannot be changed by a fix: ${reason}`, {
      remedy: "Repair it in the files of the pull request, or leave it to a person and say so in finish_fix",
    });
  };
  return {
    read: (path) => files.read(path),
    edits: () => files.edits(),
    async write(path, bytes, options) {
      require(path);
      await files.write(path, bytes, options);
    },
    async remove(path) {
      require(path);
      const own = (await files.edits()).some(
        ({ path: edited, before }) => edited === path && before === null,
      );
      if (!own) require(path, reasonToKeep(path, scope));
      await files.remove(path);
    },
  };
}
