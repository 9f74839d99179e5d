import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AppError, errorLine } from "../errors.ts";
import { type Env, type RawEnv, readEnv } from "./env.ts";

/** What the set-up page received from GitHub. */
export const StoredApp = z.object({
  app_id: z.int().positive(),
  private_key: z.string().min(1),
  webhook_secret: z.string().min(1),
  html_url: z.string(),
});
export type StoredApp = z.infer<typeof StoredApp>;

const fileIn = (dataDir: string) => join(dataDir, "app.json");

/**
 * The environment of a server: where it names no App, the one that the set-up page stored below the data folder. Commands
 * that run inside repositories of others use `readEnv` and never meet that file.
 * @throws AppError `config_invalid`.
 */
export function readServerEnv(raw?: RawEnv): Env {
  const env = raw ? readEnv(raw) : readEnv();
  if (env.app) return env;
  const stored = readStoredApp(env.dataDir);
  if (!stored) return env;
  const { app_id: id, private_key: privateKey, webhook_secret: webhookSecret } = stored;
  return { ...env, app: { id, privateKey, webhookSecret } };
}

function readStoredApp(dataDir: string): StoredApp | undefined {
  const file = fileIn(dataDir);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(file, error);
  }
  try {
    return StoredApp.parse(JSON.parse(text));
  } catch {
    // The cause would quote the file, and the file holds the key.
    throw new AppError("config_invalid", `${file} does not hold the App's credentials`, {
      remedy: "Set APP_ID, PRIVATE_KEY and WEBHOOK_SECRET, or delete the file to set the App up again.",
    });
  }
}

/** Whether the App of this data folder is set up, by whichever process; its credentials are not looked at. */
export const hasStoredApp = (dataDir: string): boolean => existsSync(fileIn(dataDir));

/**
 * Stores the App for the next start, readable by this user alone.
 * @throws AppError `data_folder_unusable`.
 */
export function storeApp(dataDir: string, app: StoredApp): void {
  const file = fileIn(dataDir);
  const half = `${file}.${randomUUID()}`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const handle = openSync(half, "wx", 0o600);
    writeSync(handle, `${JSON.stringify(app, null, 2)}\n`);
    fsyncSync(handle);
    closeSync(handle);
    renameSync(half, file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): AppError {
  return new AppError("data_folder_unusable", `Cannot use ${file}: ${errorLine(error)}`, {
    remedy: "Make the data folder writable for this user, or name another one in HUNKWISE_DATA_DIR.",
    cause: error,
  });
}
