import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, get } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSetup } from "../../src/pages/setup.ts";
import { largestBody } from "../../src/server/webhooks/receive.ts";
import { deliveryHeaders, logBook, privateKey, testEnv, webhookSecret } from "../server/webhooks/support.ts";
import { TempFolder } from "../support/git-repo.ts";
import { listenHere } from "../support/local-server.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";

const files = { caddy: "Caddyfile", nginx: "nginx.conf" } as const;
type Name = keyof typeof files;
const deployed = (name: Name) => readFileSync(join(import.meta.dirname, "../../deploy", files[name]), "utf8");
const host = "hunkwise.example.com";

async function freePort(): Promise<number> {
  const { port, close } = await listenHere(createServer());
  await close();
  return port;
}

/** What a machine of its own has is replaced; each text must be in the file. */
function adapted(name: Name, changes: readonly (readonly [string, string])[]): string {
  const text = deployed(name).replaceAll(/^\s*listen \[::\].*\n/gm, "");
  expect(changes.filter(([own]) => !text.includes(own))).toEqual([]);
  return changes.reduce((changed, [own, here]) => changed.replaceAll(own, here), text);
}

/** Starts the real proxy with its file of `deploy/` in front of a port, with ports and a certificate of its own. */
async function startProxy(name: Name, upstream: number) {
  const folder = new TempFolder(name);
  const at = (file: string) => join(folder.path, file);
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2"];
  const subject = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
  const written = ["-keyout", at("key"), "-out", at("cert")];
  execFileSync("openssl", ["req", "-x509", ...kind, ...subject, ...written], { stdio: "pipe" });
  const [port, httpPort] = [await freePort(), await freePort()];
  const to = ["127.0.0.1:3000", `127.0.0.1:${upstream}`] as const;
  if (name === "caddy") {
    const own = ["admin off", `storage file_system ${at("caddy")}`, `http_port ${httpPort}`];
    const options = `{\n${own.join("\n")}\nhttps_port ${port}\n\tservers {`;
    const site = `${host} {\n\ttls ${at("cert")} ${at("key")}`;
    writeFileSync(at("conf"), adapted(name, [to, ["{\n\tservers {", options], [`${host} {`, site]]));
  } else {
    const servers = adapted(name, [
      to,
      [`/etc/letsencrypt/live/${host}/fullchain.pem`, at("cert")],
      [`/etc/letsencrypt/live/${host}/privkey.pem`, at("key")],
      ["listen 443", `listen 127.0.0.1:${port}`],
      ["listen 80", `listen 127.0.0.1:${httpPort}`],
    ]);
    const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const temporary = kinds.map((one) => `${one}_temp_path ${at(one)};`).join(" ");
    const user = process.getuid?.() === 0 ? "user root;" : "";
    const main = `daemon off; pid ${at("pid")}; error_log stderr; ${user} events {}`;
    writeFileSync(at("conf"), `${main}\nhttp { access_log off; ${temporary}\n${servers}}`);
  }
  const args = { caddy: ["run", "--adapter", "caddyfile", "--config"], nginx: ["-c"] }[name];
  const env = { PATH: process.env.PATH ?? "", HOME: folder.path };
  const child = spawn(name, [...args, at("conf")], { env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk;
  });
  const exited = once(child, "exit");
  const place = { host: "127.0.0.1", port, servername: host, ca: readFileSync(at("cert")) };
  async function ask(path: string, headers: Record<string, string> = {}, body: string | null = null) {
    const method = body === null ? "GET" : "POST";
    const sent = request({ ...place, path, method, headers: { host: `${host}:${port}`, ...headers } });
    // The rest of a body that is refused may meet a closed connection, after the answer or before it.
    sent.on("error", () => {}).end(body);
    const [answer] = await once(sent, "response");
    const text = Buffer.concat(await answer.toArray()).toString();
    return { status: answer.statusCode as number, headers: answer.headers, text };
  }
  while (!(await ask("/healthz").catch(() => null))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${log}`);
    await sleep(50);
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
    folder.dispose();
  };
  return { origin: `https://${host}:${port}`, httpPort, ask, stop };
}

for (const name of ["caddy", "nginx"] as const) {
  const isHere = spawnSync(name, [name === "caddy" ? "version" : "-v"]).status === 0;
  describe.skipIf(!isHere)(
    `Hunkwise behind ${name}${isHere ? "" : " (left out: it is not installed)"}`,
    () => {
      let folder: TempFolder;
      let server: ServerProcess;
      let proxy: Awaited<ReturnType<typeof startProxy>>;
      beforeAll(async () => {
        folder = new TempFolder("proxied");
        server = await startServerProcess({
          ...{ APP_ID: "7", PRIVATE_KEY: privateKey, WEBHOOK_SECRET: webhookSecret },
          ...{ GITHUB_CLIENT_ID: "Iv23liAbc", GITHUB_CLIENT_SECRET: "client-secret-of-the-app" },
          ...{ GHE_HOST: "127.0.0.1:9", GHE_PROTOCOL: "http", HUNKWISE_DATA_DIR: folder.path },
          HUNKWISE_METRICS_PORT: "0",
        });
        proxy = await startProxy(name, Number(new URL(server.url).port));
      });
      afterAll(async () => {
        await proxy.stop();
        await server.stop();
        folder.dispose();
      });

      const deliver = async (bytes: number) => {
        const body = `{"zen":"${"z".repeat(bytes - 10)}"}`;
        const headers = { ...deliveryHeaders(body, "ping", `of-${bytes}`), "content-length": `${bytes}` };
        const answer = await proxy.ask("/api/github/webhooks", headers, body).catch(() => null);
        return answer?.status ?? "cut off";
      };

      it("The proxy passes on what the server answers without a log-in, each path as it was written, and no metrics", async () => {
        const paths = ["/healthz", "/readyz", "/login", "/style.css", "/", "/metrics"];
        const answers = await Promise.all(paths.map((path) => proxy.ask(path)));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 302, 302]);
        const { headers } = await proxy.ask("/findings/a%2fb");
        expect(headers.location).toBe(`/login?to=${encodeURIComponent("/findings/a%2fb")}`);
      });

      it("The proxy passes on webhooks, the largest too, and refuses larger ones", async () => {
        expect(await deliver(40)).toBe(202);
        expect(await deliver(largestBody)).toBe(202);
        expect([413, "cut off"]).toContain(await deliver(largestBody + 1_000_000));
      });

      it("The proxy leads to HTTPS, and forms of the pages can be sent there", async () => {
        const plain = { port: proxy.httpPort, host: "127.0.0.1", path: "/x", headers: { host } };
        const [answer] = await once(get(plain), "response");
        answer.resume();
        expect([301, 308]).toContain(answer.statusCode);
        expect(answer.headers.location).toMatch(/^https:\/\/hunkwise\.example\.com(:\d+)?\/x$/);
        const statusFrom = async (origin: string) => {
          const type = "application/x-www-form-urlencoded";
          return (await proxy.ask("/login", { "content-type": type, origin }, "to=%2F")).status;
        };
        expect([await statusFrom(proxy.origin), await statusFrom("https://evil.example")]).toEqual([
          200, 403,
        ]);
      });

      it("The setup page learns from the proxy by which address it was reached, and not from the visitor", async () => {
        using data = new TempFolder("proxied-setup");
        const { log, lines } = logBook();
        const env = testEnv("127.0.0.1:9", data.path, { APP_ID: "", PRIVATE_KEY: "", WEBHOOK_SECRET: "" });
        const setup = await startSetup({ env, log, checkModel: () => Promise.reject(new Error("no model")) });
        const front = await startProxy(name, setup.port);
        const key = /\?key=(\S+)/.exec(JSON.stringify(lines))?.[1];
        const forged = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" };
        const { text, headers } = await front.ask(`/setup?organization=&key=${key}`, forged);
        await front.stop();
        await setup.close();
        expect(text).toContain(`${front.origin}/setup/created`);
        expect(text).not.toContain("evil.example");
        expect(`${headers["set-cookie"]}`).toMatch(/; Secure$/);
      });

      it.runIf(name === "caddy")("Caddy keeps no connection for longer than the server does", async () => {
        const { headers } = await fetch(`${server.url}/healthz`);
        const kept = /keepalive (\d+)s/.exec(deployed(name))?.[1];
        expect(headers.get("keep-alive")).toContain(`timeout=${Number(kept) + 1}`);
      });

      it.runIf(name === "nginx")("nginx holds up a flood of log-ins, and no webhooks meanwhile", async () => {
        const log = () => proxy.ask("/login/callback?code=a&state=b");
        const flood = await Promise.all(Array.from({ length: 60 }, log));
        expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([400, 429]));
        expect(await deliver(41)).toBe(202);
      });
    },
  );
}
