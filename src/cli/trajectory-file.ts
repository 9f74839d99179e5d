import { type FileHandle, open } from "node:fs/promises";
import type { Trajectory } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";

const nowhere: Trajectory = { append: async () => {} };

/** A record of the run that is closed with it. */
export interface OpenTrajectory extends AsyncDisposable {
  trajectory: Trajectory;
}

/** Writes one JSON object a line, readable by this user alone because it holds code; null records nothing. */
export async function openTrajectory(path: string | undefined): Promise<OpenTrajectory> {
  if (path === undefined) return { trajectory: nowhere, [Symbol.asyncDispose]: async () => {} };
  const file = await openPrivate(path);
  return {
    trajectory: {
      async append(entry) {
        await file.appendFile(`${JSON.stringify(entry)}\n`);
        await file.datasync();
      },
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function openPrivate(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, "w", 0o600);
    // A file that was there before keeps its mode.
    await file.chmod(0o600);
    return file;
  } catch (error) {
    throw new AppError("usage", `the trajectory cannot be written: ${errorLine(error)}`, {
      remedy: "Name a file in a folder that you may write to.",
      cause: error,
    });
  }
}
