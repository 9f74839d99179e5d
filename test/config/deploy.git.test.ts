import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, it } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { storeApp } from "../../src/config/server-env.ts";
import { environmentDocs } from "../../src/config/variables.ts";
import { graceMs } from "../../src/server/queue/worker.ts";
import { largestBody } from "../../src/server/webhooks/receive.ts";
import { privateKey } from "../server/webhooks/support.ts";
import { TempFolder } from "../support/git-repo.ts";

const root = join(import.meta.dirname, "../..");
const deployed = (name: string) => readFileSync(join(root, "deploy", name), "utf8");
const withoutComments = (name: string) => deployed(name).replaceAll(/^\s*#.*\n/gm, "");

describe.each([
  ["Caddyfile", /max_size (\d+)MiB/],
  ["nginx.conf", /client_max_body_size (\d+)m/],
])("deploy/%s", (name, limit) => {
  it("The proxy knows the server's usual port alone, and takes bodies as large as the server does", () => {
    const text = withoutComments(name);
    const upstreams = new Set([...text.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port)));
    expect(upstreams).toEqual(new Set([readEnv({}).port]));
    expect(Number(limit.exec(text)?.[1]) * 1024 ** 2).toBe(largestBody);
  });
});

describe("deploy/hunkwise.service", () => {
  const text = withoutComments("hunkwise.service");
  const of = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value);

  it("The unit keeps the data in its own private folder, and listens on this machine alone", () => {
    const given = Object.fromEntries(`${of("Environment")}`.split(" ").map((pair) => pair.split("=")));
    expect(given).toEqual({ HOST: "127.0.0.1", HUNKWISE_DATA_DIR: `/var/lib/${of("StateDirectory")}` });
    expect(environmentDocs.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(given)));
    expect([of("StateDirectoryMode"), of("UMask")]).toEqual([["0700"], ["0077"]]);
    expect(of("EnvironmentFile")).toEqual(["-/etc/hunkwise.env"]);
  });

  it("The unit lets a server return its jobs before it kills anything", () => {
    expect(of("KillMode")).toEqual(["mixed"]);
    expect(Number(of("TimeoutStopSec"))).toBeGreaterThan(graceMs / 1_000);
  });

  it("The unit leaves to Node and to the sandbox what they need", () => {
    expect(text).not.toMatch(
      /^(?:RestrictNamespaces|ProtectHostname|ProtectProc|ProcSubset|ProtectKernelTunables|ProtectKernelLogs|MemoryDenyWriteExecute|PrivateUsers)=/m,
    );
    expect(of("SystemCallFilter")).toEqual(["@system-service @mount sethostname"]);
    expect(`${of("RestrictAddressFamilies")}`).toContain("AF_NETLINK");
  });

  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
  const left = hasSystemd ? "" : " (left out: systemd-analyze is not installed)";
  it.skipIf(!hasSystemd)(`systemd takes the unit, and calls its exposure OK${left}`, () => {
    using folder = new TempFolder("unit");
    const file = join(folder.path, "hunkwise.service");
    // The program is not installed here.
    writeFileSync(file, deployed("hunkwise.service").replace("ExecStart=hunkwise", "ExecStart=/bin/true"));
    const verified = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    // It also warns of the machine's own units.
    const warnings = verified.stderr.split("\n").filter((line) => line.includes("hunkwise"));
    expect([verified.status, warnings]).toEqual([0, []]);
    const security = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=35", file]);
    expect(security.status).toBe(0);
  });
});

it("The command of the documents writes the stored App as variables that the server reads", () => {
  using folder = new TempFolder("stored");
  const stored = { app_id: 5, private_key: privateKey, webhook_secret: "secret", html_url: "https://x/y" };
  storeApp(folder.path, { ...stored, client_id: "Iv23", client_secret: "client" });
  const document = readFileSync(join(root, "docs/operations.md"), "utf8");
  const script = /exec -T hunkwise node -p '([^']+)' >> \.env/.exec(document)?.[1] ?? "";
  const here = script.replace("/data/app.json", join(folder.path, "app.json"));
  const { stdout } = spawnSync(process.execPath, ["-p", here], { encoding: "utf8" });
  const { app, login } = readEnv(parseEnv(stdout));
  expect(app).toEqual({ id: 5, privateKey, webhookSecret: "secret" });
  expect(login).toEqual({ clientId: "Iv23", clientSecret: "client" });
});
