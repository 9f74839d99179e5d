import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateKey, smallServer } from "../server/webhooks/support.ts";
import { TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { shortTimes } from "../support/short-times.ts";
import {
  type AttackedServer,
  delivery,
  headersOf,
  headOf,
  health,
  startAttackedServer,
  webhooks,
} from "./attacked-server.ts";
import { firstStatus, RawSocket } from "./raw-socket.ts";

let attacked: AttackedServer;
let port: number;
beforeAll(async () => {
  attacked = await startAttackedServer();
  ({ port } = attacked);
});
afterAll(async () => expect(await attacked.stop()).toBe(0));

const stillServes = async () => expect(await firstStatus(port, delivery())).toBe(202);

describe("an address", () => {
  it.each([
    ["http://evil.example/healthz", 200],
    ["//evil.example/healthz", 200],
    ["/healthz/../healthz", 200],
    ["/%2e%2e/healthz", 200],
    [`/x/..${webhooks}`, 405],
    ["/HEALTHZ", 404],
    ["/healthz/", 404],
    [`${webhooks}/`, 404],
    [webhooks.toUpperCase(), 404],
    ["/healthz%00", 404],
    ["/%", 404],
    ["/..%2f..%2fetc%2fpasswd", 404],
    ["/../../../etc/passwd", 404],
    ["/app.json", 404],
    ["/.env", 404],
    ["/metrics", 404],
    ["http://[", 400],
    ["http://x:99999999/", 400],
    ["*", 404],
  ])(
    "The address %s is answered with %i, as a path of this server and nothing else",
    async (target, status) => {
      expect(await firstStatus(port, `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)).toBe(status);
    },
  );

  it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MKCOL"])(
    "The address of the webhooks does not accept %s",
    async (method) => {
      const raw = await RawSocket.open(port);
      await raw.send(headOf(webhooks, { "x-canary": "canary-in-a-header", connection: "close" }, method));
      const answer = await raw.closed();
      expect(raw.statuses()).toEqual([405]);
      expect(answer).not.toContain("canary-in-a-header");
    },
  );

  it("The server accepts neither CONNECT nor an upgrade", async () => {
    expect(await firstStatus(port, "CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: x\r\n\r\n")).toBe(0);
    const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": 13 };
    expect(await firstStatus(port, headOf(webhooks, upgrade, "GET"))).toBe(405);
  });
});

describe("a connection", () => {
  it("A connection gets its answers in the order of its requests, and a body is not a request", async () => {
    const raw = await RawSocket.open(port);
    const smuggled = headOf("/nowhere", { "content-length": health.length }) + health;
    await raw.send(health + delivery() + smuggled + headOf(webhooks, {}, "GET") + health);
    expect(await raw.answered(5)).toEqual([200, 202, 404, 405, 200]);
    raw.end();
  });

  it("A connection carries a thousand requests and no more", async () => {
    const raw = await RawSocket.open(port);
    for (let sent = 10; sent <= 1_010; sent += 10) {
      await raw.send(health.repeat(10));
      await raw.answered(sent);
    }
    const statuses = raw.statuses();
    expect(statuses.slice(0, 1_000)).toEqual(Array(1_000).fill(200));
    expect(statuses.slice(1_000).every((status) => status === 503)).toBe(true);
    raw.end();
    await stillServes();
  });

  it("A connection ends if it has waited longest for a request and a thousand are open", async () => {
    const open: RawSocket[] = [];
    for (let n = 0; n < 1_020; n++) open.push(await RawSocket.open(port));
    await Promise.all(open.slice(0, 20).map((raw) => raw.closed()));
    const statuses = await Promise.all(
      open.slice(20).map(async (raw) => {
        await raw.send(health);
        return (await raw.answered())[0];
      }),
    );
    expect(statuses).toEqual(Array(1_000).fill(200));
    for (const raw of open) raw.end();
    await stillServes();
  });

  it("slow-connections: A thousand of them hold up neither deliveries nor health checks", async () => {
    const beginnings = [
      "POST /",
      `POST ${webhooks} HTTP/1.1\r\nhost: x\r\nx-a: `,
      headOf(webhooks, { ...headersOf("{}"), "content-length": 100_000 }),
      `${health}GET /`,
    ];
    let [isOver, opened] = [false, 0];
    const slow = new Set<RawSocket>();
    const drip = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write("a");
    }, 500);
    /** Reconnects whenever the server drops it. */
    const hold = async (beginning: string) => {
      while (!isOver) {
        const raw = await RawSocket.open(port).catch(() => null);
        opened += 1;
        if (!raw) continue;
        slow.add(raw);
        await raw.send(beginning);
        await raw.closed();
        slow.delete(raw);
      }
    };
    const attackers = Array.from({ length: 1_000 }, (_, n) => hold(beginnings[n % beginnings.length] ?? ""));
    try {
      while (opened < 1_000) await new Promise((later) => setTimeout(later, 20));
      for (let n = 0; n < 30; n++) {
        await stillServes();
        expect(await firstStatus(port, health)).toBe(200);
      }
      expect(slow.size).toBeGreaterThan(900);
    } finally {
      isOver = true;
      clearInterval(drip);
      for (const raw of slow) raw.end();
      await Promise.all(attackers);
    }
  });
});

describe("a page or port for others", () => {
  it("A server with an App has no setup page, for any request", async () => {
    for (const path of [
      "/setup",
      "/setup/created",
      "/setup?key=x",
      "/setup/created?code=a&state=b",
      "/setup/",
    ])
      for (const method of ["GET", "POST", "HEAD"]) {
        const cookie = { cookie: "hunkwise_setup=b", connection: "close" };
        const raw = await RawSocket.open(port);
        await raw.send(headOf(path, method === "POST" ? { ...cookie, "content-length": 0 } : cookie, method));
        const answer = await raw.closed();
        expect(raw.statuses()).toEqual([404]);
        expect(answer).not.toMatch(/set-cookie|<form|manifest|state/i);
      }
  });

  it("The setup page is gone as soon as the App is set up, and never appears in a frame", async () => {
    const created = {
      id: 41,
      pem: privateKey,
      webhook_secret: "from-github",
      slug: "hunk-bot",
      name: "Hunkwise",
    };
    const forge = await smallServer(() => ({
      status: 200,
      body: { ...created, html_url: `http://${forge.host}/apps/hunk-bot` },
    }));
    using data = new TempFolder("setup");
    const env = { GHE_HOST: forge.host, GHE_PROTOCOL: "http", HUNKWISE_DATA_DIR: data.path, PORT: "0" };
    const { ended, seen, stop } = serving({ ...env, HOST: "127.0.0.1", ...shortTimes() });
    const home = await seen(/open (http:\/\/localhost:\d+\/\?key=\S+) /);
    const page = new URL(home).origin;
    const choices = `${new URL(home).search}&address=https://hunk.example.com&organization=`;
    const shown = await fetch(`${page}/setup${choices}`);
    const policy = shown.headers.get("content-security-policy") ?? "";
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy).toContain(part);
    expect(policy).not.toMatch(/script-src|unsafe-eval|\*/);
    const kept = ["x-content-type-options", "cache-control"].map((name) => shown.headers.get(name));
    expect(kept).toEqual(["nosniff", "no-store"]);
    const cookie = (shown.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const setup = `/setup/created?code=abc&state=${cookie.split("=")[1]}`;
    await fetch(page + setup, { headers: { cookie }, redirect: "manual" });

    const address = `http://127.0.0.1:${await seen(/Listening on port (\d+)/)}`;
    for (const path of ["/setup", setup, "/setup?key=x"]) {
      const answer = await fetch(address + path, { headers: { cookie } });
      expect([answer.status, await answer.text(), answer.headers.get("set-cookie")]).toEqual([
        404,
        "Not found.\n",
        null,
      ]);
    }
    expect(forge.asked.filter(({ url }) => url.includes("app-manifests"))).toHaveLength(1);
    stop();
    expect((await ended).code).toBe(0);
    await forge.close();
  });

  it("A port for the operator is open only to this machine", () => {
    const own = /"metricsPort":(\d+)/.exec(attacked.server.log())?.[1];
    expect(addressesOf(Number(own))).toEqual(["0100007F"]);
    // The web server's own port, which `HOST` opens to all addresses.
    expect(addressesOf(port)).toEqual(["00000000"]);
  });
});

/** A server process from its start. `seen` resolves to the pattern's group in its log, and rejects if the process ended. */
function serving(env: Record<string, string>) {
  let log = "";
  let stop = () => {};
  const watchers = new Set<() => void>();
  const ended = runCli(["serve"], {
    env,
    onStart(child) {
      stop = () => void child.kill("SIGTERM");
      child.stderr?.on("data", (chunk: Buffer) => {
        log += chunk;
        for (const look of watchers) look();
      });
    },
  });
  const seen = (sign: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = sign.exec(log)?.[1];
        if (found !== undefined) resolve(found);
      };
      watchers.add(look);
      look();
      ended.then(() => reject(new Error(`It ended: ${log}`)), reject);
    });
  return { ended, seen, stop: () => stop() };
}

/** The addresses on which this machine listens on a port, in Linux notation. */
function addressesOf(wanted: number): string[] {
  const hex = wanted.toString(16).toUpperCase().padStart(4, "0");
  const sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) =>
    readFileSync(file, "utf8").split("\n"),
  );
  return sockets.flatMap((line) => new RegExp(`^\\s*\\d+: (\\w+):${hex} \\w+:0000 0A`).exec(line)?.[1] ?? []);
}
