import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../errors.ts";
import { dataFolder as dataFolderOf } from "./data-folder.ts";
import { type RawEnv, rawEnv } from "./env.ts";

/** Where a server keeps what its runs left. */
export interface RunsPlace {
  /** Postgres; null: `queue.db` in the data folder. */
  databaseUrl: string | null;
  dataFolder: string;
}

/**
 * The server whose environment this is; null where it is that of none. A developer's shell holds `DATABASE_URL` for programs of its
 * own, so that it counts only beside an App. Nothing else of the environment is looked at, so that whatever is wrong with it keeps
 * nobody from looking.
 * @throws AppError `config_invalid`.
 */
export function readRunsPlace(raw: RawEnv = rawEnv()): RunsPlace | null {
  const given = (name: string) => raw[name]?.trim() || null;
  const dataFolder = dataFolderOf(given("HUNKWISE_DATA_DIR") ?? undefined);
  const isServer = given("APP_ID") !== null || existsSync(join(dataFolder, "app.json"));
  const databaseUrl = isServer ? given("DATABASE_URL") : null;
  if (databaseUrl !== null && !/^postgres(ql)?:/.test(databaseUrl)) {
    throw new AppError(
      "config_invalid",
      "DATABASE_URL must be an address like postgres://user:password@host:5432/database",
    );
  }
  const hasFile = existsSync(join(dataFolder, "queue.db"));
  return databaseUrl !== null || hasFile ? { databaseUrl, dataFolder } : null;
}
