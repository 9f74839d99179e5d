import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Env } from "../config/env.ts";
import { AppError } from "../errors.ts";

const AppFile = z.strictObject({
  name: z.string(),
  description: z.string(),
  public: z.boolean(),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])),
  default_events: z.array(z.string()),
});

/** `app.yml` beside Hunkwise's own `package.json`. */
const appFile = resolve(import.meta.dirname, "../../app.yml");

/** The manifest from which GitHub creates the App: `app.yml` with the addresses of this server. */
export function appManifest(addresses: { home: string; webhook: string; redirect: string }): object {
  const { data, error } = AppFile.safeParse(parse(readFileSync(appFile, "utf8")));
  if (!data) {
    const where = error.issues[0]?.path.join(".");
    throw new AppError("config_invalid", `${appFile} cannot be used: ${where} ${error.issues[0]?.message}`);
  }
  return {
    ...data,
    url: addresses.home,
    hook_attributes: { url: addresses.webhook, active: true },
    redirect_url: addresses.redirect,
  };
}

/** Where a person creates an App from a manifest; GitHub hands `state` back. */
export function createAppUrl({ github, organization }: Env, state: string): string {
  const place = organization ? `/organizations/${organization}/settings/apps/new` : "/settings/apps/new";
  return `${github.webUrl}${place}?state=${state}`;
}
