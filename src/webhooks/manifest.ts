import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Env } from "../config/env.ts";
import { AppError } from "../errors.ts";

const Permissions = z.record(z.string(), z.enum(["read", "write"]));

const AppFile = z.strictObject({
  name: z.string(),
  description: z.string(),
  public: z.boolean(),
  default_permissions: Permissions,
  default_events: z.array(z.string()),
});

/** What a variant asks for beside `app.yml`, or instead of it. */
const VariantFile = z.strictObject({ default_permissions: Permissions });

/** Beside Hunkwise's own `package.json`. */
const besidePackage = (name: string) => resolve(import.meta.dirname, "../..", name);
const appFile = besidePackage("app.yml");
const contentsWriteFile = besidePackage("app.contents-write.yml");

/** Where GitHub finds this server. */
export interface ServerAddresses {
  home: string;
  webhook: string;
  redirect: string;
}

/**
 * The manifest from which GitHub creates the App: `app.yml` with the addresses of this server; where the App shall write code,
 * with `app.contents-write.yml` laid over it.
 * @throws AppError `config_invalid` when a file cannot be used.
 */
export function appManifest(addresses: ServerAddresses, contents: "read" | "write" = "read"): object {
  const app = readAs(AppFile, appFile);
  const more = contents === "write" ? readAs(VariantFile, contentsWriteFile).default_permissions : {};
  return {
    ...app,
    default_permissions: { ...app.default_permissions, ...more },
    url: addresses.home,
    hook_attributes: { url: addresses.webhook, active: true },
    redirect_url: addresses.redirect,
  };
}

function readAs<Data>(schema: z.ZodType<Data>, file: string): Data {
  const { data, error } = schema.safeParse(parse(readFileSync(file, "utf8")));
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  throw new AppError("config_invalid", `${file} cannot be used: ${issue?.path.join(".")} ${issue?.message}`);
}

/** Where a person creates an App from a manifest; GitHub hands `state` back. */
export function createAppUrl({ github, organization }: Env, state: string): string {
  const place = organization ? `/organizations/${organization}/settings/apps/new` : "/settings/apps/new";
  return `${github.webUrl}${place}?state=${state}`;
}
