import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AppError, errorLine } from "../core/errors.ts";
import { type Env, faultOf, type InspectedEnv, inspectEnv, rawEnv } from "./env.ts";
import { dataFolder } from "./folders.ts";
import { type RawEnv, requireNone } from "./variables.ts";

export const StoredApp = z.object({
  app_id: z.int().positive(),
  private_key: z.string().min(1),
  webhook_secret: z.string().min(1),
  html_url: z.string(),
  /** Left out if GitHub gave none. */
  client_id: z.string().min(1).optional(),
  client_secret: z.string().min(1).optional(),
});
export type StoredApp = z.infer<typeof StoredApp>;

const fileIn = (dataDir: string) => join(dataDir, "app.json");

/**
 * The environment of a server; without an App in it, the one that the setup page stored counts. Commands that run inside other people's
 * repositories use `readEnv` and never read that file. Throws `config_invalid`.
 */
export function readServerEnv(raw?: RawEnv): Env {
  const { env, faults } = inspectServerEnv(raw);
  requireNone(faults);
  return env;
}

/** Reads the environment like `readServerEnv`, but continues after faults. */
export function inspectServerEnv(raw: RawEnv = rawEnv()): InspectedEnv {
  const { env, faults } = inspectEnv(raw);
  if (env.app || faults.some(({ variable }) => ofApp.has(variable))) return { env, faults };
  try {
    const stored = readStoredApp(env.dataDir);
    return { env: { ...env, app: appOf(stored), login: env.login ?? loginOf(stored) }, faults };
  } catch (error) {
    return { env, faults: [...faults, faultOf("HUNKWISE_DATA_DIR", error)] };
  }
}

const ofApp = new Set(["APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH", "WEBHOOK_SECRET"]);

const appOf = (stored: StoredApp | undefined): Env["app"] =>
  stored ? { id: stored.app_id, privateKey: stored.private_key, webhookSecret: stored.webhook_secret } : null;

const loginOf = (stored: StoredApp | undefined): Env["login"] =>
  stored?.client_id && stored.client_secret
    ? { clientId: stored.client_id, clientSecret: stored.client_secret }
    : null;

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
    // The cause would quote the file, which contains the key.
    throw new AppError("config_invalid", `${file} does not contain the App's credentials`, {
      remedy: "Set APP_ID, PRIVATE_KEY and WEBHOOK_SECRET, or delete the file to set the App up again.",
    });
  }
}

/** Whether any process has set up the App of this data folder; its credentials are not checked. */
export const hasStoredApp = (dataDir: string): boolean => existsSync(fileIn(dataDir));

/** Stores the App for the next start, readable only by this user. Throws `data_folder_unusable`. */
export function storeApp(dataDir: string, app: StoredApp): void {
  const file = fileIn(dataDir);
  const half = `${file}.${randomUUID()}`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const text = `${JSON.stringify(app, null, 2)}\n`;
    writeFileSync(half, text, { flag: "wx", mode: 0o600, flush: true });
    renameSync(half, file);
  } catch (error) {
    // A half-written file contains a part of the key.
    if (existsSync(half)) rmSync(half);
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): AppError {
  return new AppError("data_folder_unusable", `Cannot use ${file}: ${errorLine(error)}`, {
    remedy: "Make the data folder writable for this user, or set HUNKWISE_DATA_DIR to another folder.",
    cause: error,
  });
}

/**
 * Where the server of this environment has its records of runs, or null; without an address, in `queue.db` in the data folder. `DATABASE_URL` counts only next to an App, because a developer's shell sets it for other programs.
 * Faults in other variables must not keep a person from viewing the runs. Throws `config_invalid`.
 */
export function readRunsPlace(raw: RawEnv = rawEnv()) {
  const given = (name: string) => raw[name]?.trim() || null;
  const folder = dataFolder(given("HUNKWISE_DATA_DIR") ?? undefined);
  const isServer = given("APP_ID") !== null || hasStoredApp(folder);
  const databaseUrl = isServer ? given("DATABASE_URL") : null;
  if (databaseUrl !== null && !/^postgres(ql)?:/.test(databaseUrl)) {
    throw new AppError(
      "config_invalid",
      "DATABASE_URL must be an address such as postgres://user:password@host:5432/database",
    );
  }
  const hasFile = existsSync(join(folder, "queue.db"));
  return databaseUrl !== null || hasFile ? { databaseUrl, dataFolder: folder } : null;
}
