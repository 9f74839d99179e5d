import { createPublicKey, createVerify } from "node:crypto";
import { rmSync } from "node:fs";
import type { Probot } from "probot";
import { afterEach, describe, expect, it, vi } from "vitest";
import { withoutSecrets } from "../../../src/core/secrets/redact.ts";
import {
  appAuth,
  appIdentity,
  createProbot,
  installationAuth,
} from "../../../src/server/webhooks/app-auth.ts";
import { logBook, newFolder, privateKey, silentServer, smallServer, testEnv } from "./support.ts";

const folder = newFolder();
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  rmSync(folder, { recursive: true, force: true });
});

async function probotAt(answer: Parameters<typeof smallServer>[0]) {
  const github = await smallServer(answer);
  cleanups.push(github.close);
  const env = testEnv(github.host, folder);
  const { log, lines } = logBook();
  return { github, lines, probot: createProbot(env.app!, env.github, log) };
}

let minted = 0;
const tokens = () => ({
  status: 201,
  body: {
    token: `ghs_token-number-${++minted}-${"x".repeat(30)}`,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    permissions: { contents: "read" },
    repository_selection: "selected",
  },
});
const scope = { repositoryIds: [7], permissions: { contents: "read" } } as const;

it("A token of an installation is asked for at the enterprise server, for one repository and the least permissions, by the App", async () => {
  const { github, probot } = await probotAt(tokens);
  await installationAuth(probot)(3, scope);
  const [request] = github.asked;
  expect(request).toMatchObject({ method: "POST", url: "/api/v3/app/installations/3/access_tokens" });
  expect(JSON.parse(request!.body)).toEqual({ repository_ids: [7], permissions: { contents: "read" } });
  const [, header, payload, signature] = /^bearer (.+)\.(.+)\.(.+)$/i.exec(request!.headers.authorization!)!;
  const verify = createVerify("RSA-SHA256").update(`${header}.${payload}`);
  expect(verify.verify(createPublicKey(privateKey), signature!, "base64url")).toBe(true);
});

it("A token of an installation is kept for the same scope, minted anew for another one and when asked to renew", async () => {
  const { github, probot } = await probotAt(tokens);
  const auth = installationAuth(probot);
  const first = await auth(3, scope);
  expect(await auth(3, scope)).toBe(first);
  expect(await auth(3, { ...scope, permissions: { contents: "read", checks: "write" } })).not.toBe(first);
  expect(await auth(3, { ...scope, repositoryIds: [8] })).not.toBe(first);
  const renewed = await auth(3, { ...scope, renew: true });
  expect(renewed).not.toBe(first);
  expect(await auth(3, scope)).toBe(renewed);
  expect(github.asked).toHaveLength(4);
});

it("A token of an installation is asked for by a repository's name if only that is known", async () => {
  const { github, probot } = await probotAt(tokens);
  const auth = installationAuth(probot);
  const named = { repositoryNames: [".github"], permissions: { contents: "read" } } as const;
  const first = await auth(3, named);
  expect(await auth(3, scope)).not.toBe(first);
  expect(await auth(3, named)).toBe(first);
  expect(JSON.parse(github.asked[0]!.body)).toEqual({
    repositories: [".github"],
    permissions: { contents: "read" },
  });
});

it("A token of an installation reaches all repositories of the installation if none is named", async () => {
  const { github, probot } = await probotAt(tokens);
  await installationAuth(probot)(3, { permissions: { checks: "read" } });
  expect(JSON.parse(github.asked[0]!.body)).toEqual({ permissions: { checks: "read" } });
});

it("A token of an installation is known to the log as a secret", async () => {
  const { probot } = await probotAt(() => ({
    ...tokens(),
    body: { ...tokens().body, token: "no-usual-form-1" },
  }));
  const token = await installationAuth(probot)(3, scope);
  expect(withoutSecrets(`x ${token} x`)).toBe("x [secret] x");
});

it.each([
  [403, "github_forbidden", false],
  [404, "github_not_found", false],
  [422, "github_invalid", false],
  [502, "github_failed", true],
])(
  "A token of an installation refused with %i is an AppError %s after one request",
  async (status, code, retryable) => {
    const { github, probot } = await probotAt(() => ({ status, body: { message: "No" } }));
    await expect(installationAuth(probot)(3, scope)).rejects.toMatchObject({ code, retryable });
    expect(github.asked).toHaveLength(1);
  },
);

it.each([[false], [true]])(
  "An answer that is cut off before the token is refused, and not kept (own token: %j)",
  async (own) => {
    const answers = [JSON.stringify(tokens().body).slice(0, 20), tokens().body];
    const { probot } = await probotAt(() => ({ status: 201, body: answers.shift() }));
    const mint = () => installationAuth(probot)(3, { ...scope, own });
    await expect(mint()).rejects.toMatchObject({ code: "github_failed", retryable: true });
    expect(await mint()).toMatch(/^ghs_token/);
  },
);

describe("a 401", () => {
  /** Refuses the App so many times, and answers then. */
  const refusing = (times: number, answer: () => { status: number; body: object }) => () =>
    times-- > 0 ? { status: 401, body: { message: "Bad credentials" } } : answer();
  const anApp = () => ({ status: 200, body: { slug: "hunk-bot", name: "Hunk Bot" } });

  it("A 401 that passes keeps nobody from a token, nor from knowing who the App is", async () => {
    const minting = await probotAt(refusing(1, tokens));
    expect(await installationAuth(minting.probot)(3, scope)).toMatch(/^ghs_token/);
    const asking = await probotAt(refusing(1, anApp));
    expect((await appIdentity(asking.probot)()).slug).toBe("hunk-bot");
  });

  it("A 401 that stays is an AppError after two requests", async () => {
    const { github, probot } = await probotAt(refusing(9, tokens));
    const refused = installationAuth(probot)(3, scope);
    await expect(refused).rejects.toMatchObject({ code: "github_unauthorized", retryable: false });
    expect(github.asked).toHaveLength(2);
  });
});

it("The App's own token is kept for some minutes, made anew after that and when asked to, and known to the log as a secret", async () => {
  const { probot } = await probotAt(tokens);
  let time = 0;
  const auth = appAuth(probot, () => time);
  const first = await auth({ renew: false });
  expect(withoutSecrets(first)).toBe("[secret]");
  time = 4 * 60_000;
  expect(await auth({ renew: false })).toBe(first);
  const claims = JSON.parse(Buffer.from(first.split(".")[1]!, "base64url").toString());
  expect(claims.exp * 1000).toBeGreaterThan(Date.now() + 5 * 60_000);
  // One that is made in the same second is the same.
  const asked = vi.spyOn(probot, "auth");
  await auth({ renew: true });
  time = 10 * 60_000;
  await auth({ renew: false });
  expect(asked).toHaveBeenCalledTimes(2);
});

describe("a silent GitHub", () => {
  const calls: [string, (probot: Probot) => Promise<unknown>][] = [
    ["minting a token", (probot) => installationAuth(probot)(3, scope)],
    ["asking who the App is", (probot) => appIdentity(probot)()],
  ];

  it.each(calls)("A silent GitHub fails %s when the time is over", async (_, call) => {
    const github = await silentServer();
    cleanups.push(github.close);
    const env = testEnv(github.host, folder);
    const probot = createProbot(env.app!, env.github, logBook().log, 100);
    await expect(call(probot)).rejects.toMatchObject({
      code: "github_failed",
      message: expect.stringContaining("it took too long"),
      retryable: true,
    });
  });
});

it("The identity of the App is asked once", async () => {
  const { github, probot } = await probotAt(() => ({
    status: 200,
    body: { slug: "hunk-bot", name: "Hunk Bot" },
  }));
  const identity = appIdentity(probot);
  expect(await Promise.all([identity(), identity()])).toEqual(Array(2).fill({ slug: "hunk-bot" }));
  expect(github.asked.map(({ url }) => url)).toEqual(["/api/v3/app"]);
});

it("The identity of the App is asked again after a failure", async () => {
  let status = 500;
  const { probot } = await probotAt(() => ({ status, body: { slug: "hunk-bot", name: "Hunk Bot" } }));
  const identity = appIdentity(probot);
  await expect(identity()).rejects.toMatchObject({ code: "github_failed" });
  status = 200;
  expect((await identity()).slug).toBe("hunk-bot");
});
