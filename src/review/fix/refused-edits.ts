import { AppError } from "../../errors.ts";
import type { EditPort } from "../../tools/tool.ts";
import { type FixScope, type Refusal, reasonByPath } from "./check-edits.ts";

/** More tell nothing new. */
const MOST = 20;

/** The door for a model's own edits, beside what it was kept from: people are to know what a fix has tried. */
export function notingRefusals(edit: EditPort, scope: FixScope): { edit: EditPort; refused(): Refusal[] } {
  const reasons = new Map<string, string>();
  async function noting(path: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const reason = error instanceof AppError && error.code === "not_allowed" && reasonByPath(path, scope);
      if (reason && reasons.size < MOST) reasons.set(path, reason);
      throw error;
    }
  }
  return {
    edit: {
      read: (path) => edit.read(path),
      edits: () => edit.edits(),
      write: (path, bytes, options) => noting(path, edit.write(path, bytes, options)),
      remove: (path) => noting(path, edit.remove(path)),
    },
    refused: () => [...reasons].map(([path, reason]) => ({ path, reason })),
  };
}
