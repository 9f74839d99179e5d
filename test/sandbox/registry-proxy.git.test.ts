import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rememberProxies } from "../../src/core/proxies.ts";
import { startRegistryProxy } from "../../src/sandbox/registry-proxy.ts";

/** What the registry heard. */
const heard: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
let registry: Server;
let port = 0;
let elsewhere = 0;

beforeAll(async () => {
  registry = createServer((request, answer) => {
    heard.push({ method: request.method, url: request.url, headers: request.headers });
    if (request.url === "/moved")
      answer.writeHead(302, { location: "http://evil.example/", "set-cookie": "a=b" }).end();
    else if (request.url === "/large") answer.end(Buffer.alloc(1_000_000));
    else answer.setHeader("set-cookie", "a=b").end(`packages at ${request.url}`);
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
  port = (registry.address() as AddressInfo).port;
  const other = createServer((_, answer) => answer.end("elsewhere")).listen(0, "127.0.0.1");
  await once(other, "listening");
  elsewhere = (other.address() as AddressInfo).port;
  afterAll(() => other.close());
});
afterAll(() => registry.close());
afterEach(() => {
  heard.length = 0;
});

/** Sends bytes to a proxy for the named hosts; resolves to everything that comes back, and what was refused. */
async function send(text: string, over: Partial<Parameters<typeof startRegistryProxy>[0]> = {}) {
  await using proxy = await startRegistryProxy({ registries: [`localhost:${port}`], ...over });
  const socket = connect(join(proxy.folder, "proxy"));
  let back = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    back += piece;
  });
  socket.on("error", () => {});
  socket.write(text.replaceAll("\n", "\r\n").replaceAll("PORT", String(port)), "latin1");
  await once(socket, "close");
  return { status: /^HTTP\/1\.1 (\d+)/.exec(back)?.[1] ?? "", back, refused: [...proxy.refused] };
}

describe("a registry proxy", () => {
  it("A registry proxy serves plain downloads from a named host", async () => {
    const { status, back } = await send(
      "GET http://LOCALHOST:PORT/left-pad?x=1 HTTP/1.1\nHost: evil.example\nAuthorization: Bearer a\nProxy-Authorization: Basic b\n" +
        "Cookie: c=d\nAccept: text/plain\nX-Forwarded-For: 1.2.3.4\nNpm-Session: e\nConnection: close\n\n",
    );
    expect([status, back.split("\r\n\r\n")[1]]).toEqual([
      "200",
      expect.stringContaining("packages at /left-pad?x=1"),
    ]);
    expect(back).not.toContain("set-cookie");
    expect(heard).toEqual([
      {
        ...{ method: "GET", url: "/left-pad?x=1" },
        headers: { host: `localhost:${port}`, accept: "text/plain", connection: expect.any(String) },
      },
    ]);
  });

  it("A registry proxy passes a tunnel on to a named host, bytes behind the request included", async () => {
    const { back } = await send(
      "CONNECT localhost:PORT HTTP/1.1\nHost: localhost:PORT\n\nGET /inside HTTP/1.1\nHost: x\nConnection: close\n\n",
    );
    expect(back).toMatch(/^HTTP\/1\.1 200 OK\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*packages at \/inside/);
  });

  it.each([
    ...["evil.example:443", "localhost:443", "localhost:80", "localhost", "127.0.0.1:PORT", "[::1]:PORT"],
    ...[
      "localhost.:PORT",
      "user@localhost:PORT",
      "user:pass@localhost:PORT",
      "localhost:PORT@evil.example:443",
    ],
    ...[
      "evil.localhost:PORT",
      "localhost:PORT/",
      "http://localhost:PORT",
      "localhost:PORT:443",
      "0x7f000001:PORT",
    ],
    ...[
      "2130706433:PORT",
      "127.1:PORT",
      "localhost%00.evil:PORT",
      "localhost\\@evil:PORT",
      "localhost#:PORT",
      ":PORT",
    ],
    ...["[::ffff:127.0.0.1]:PORT", "*:PORT", "localhost:999999", "localhost:-1", "localhost:0xPORT"],
  ])("A registry proxy opens no tunnel to %s", async (target) => {
    const { status, refused } = await send(
      `CONNECT ${target} HTTP/1.1\nHost: localhost:PORT\n\nGET / HTTP/1.1\n\n`,
    );
    // Node's own parser refuses some of them before.
    expect(["403", "400", ""]).toContain(status);
    if (status === "403") expect(refused).toEqual([target.replaceAll("PORT", String(port))]);
    expect(heard).toEqual([]);
  });

  it.each([
    ...["http://evil.example/", "http://localhost/", "http://localhost:443/", "http://127.0.0.1:PORT/"],
    ...["http://localhost:PORT@evil.example/", "http://user@localhost:PORT/", "http://:pass@localhost:PORT/"],
    ...[
      "http://evil.example\\@localhost:PORT/",
      "http://localhost.:PORT/",
      "http://[::1]:PORT/",
      "https://localhost:PORT/",
    ],
    ...[
      "http:localhost:PORT",
      "//localhost:PORT/",
      "/left-pad",
      "*",
      "ftp://localhost:PORT/",
      "file:///etc/passwd",
    ],
    ...[
      "http://0x7f.1:PORT/",
      "http://2130706433:PORT/",
      "http://evil.example#@localhost:PORT/",
      "http://evil.example?localhost:PORT",
    ],
    ...[
      "http://localhost%2eevil.example/",
      "http://sub.localhost:PORT/",
      "http:///localhost:PORT/../",
      "blob:http://localhost:PORT/",
    ],
  ])("A registry proxy asks nobody for %s", async (target) => {
    const { status } = await send(`GET ${target} HTTP/1.1\nHost: localhost:PORT\nConnection: close\n\n`);
    // The URL standard reads three slashes as two; then it is the named host after all.
    const isSame = target.startsWith("http:///");
    expect(isSame ? ["200"] : ["403", "400", ""]).toContain(status);
    expect(heard).toHaveLength(isSame ? 1 : 0);
  });

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])(
    "A registry proxy sends no %s",
    async (method) => {
      const { status } = await send(
        `${method} http://localhost:PORT/ HTTP/1.1\nHost: localhost:PORT\nContent-Length: 1\nConnection: close\n\nx`,
      );
      expect(status).toBe("405");
      expect(heard).toEqual([]);
    },
  );

  it.each([
    ["two lengths", "Content-Length: 5\nContent-Length: 6\n\nhello"],
    [
      "a length and chunks",
      "Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\nGET http://evil.example/ HTTP/1.1\n\n",
    ],
    ["a body with a request in it", "Content-Length: 43\n\nGET /smuggled HTTP/1.1\nHost: evil.example\n\n"],
    ["chunks with a request in them", "Transfer-Encoding: chunked\n\n17\nGET /smuggled HTTP/1.1\n\n0\n\n"],
    ["a folded header", "X-A: b\n c\nCookie: d\n\n"],
    ["another protocol", "Connection: Upgrade\nUpgrade: h2c\n\n"],
  ])("A registry proxy passes on nothing that a request hides: %s", async (_, rest) => {
    await send(`GET http://localhost:PORT/ HTTP/1.1\nHost: localhost:PORT\n${rest}`, { idleMs: 300 });
    expect(heard.map(({ url }) => url).filter((url) => url !== "/")).toEqual([]);
    for (const { headers } of heard) expect(Object.keys(headers).toSorted()).toEqual(["connection", "host"]);
  });

  it("A registry proxy does not follow where a named host points", async () => {
    const { status, back } = await send(
      "GET http://localhost:PORT/moved HTTP/1.1\nHost: a\nConnection: close\n\n",
    );
    expect([status, heard.length]).toEqual(["302", 1]);
    expect(back).toContain("location: http://evil.example/");
  });

  it("A registry proxy ends connections that transfer too much", async () => {
    const request = "GET http://localhost:PORT/large HTTP/1.1\nHost: a\nConnection: close\n\n";
    expect((await send(request, { maxBytes: 10_000 })).back.length).toBeLessThan(200_000);
    expect((await send(request)).back.length).toBeGreaterThan(1_000_000);
    const tunnel = `CONNECT localhost:PORT HTTP/1.1\nHost: a\n\n${request.replace("http://localhost:PORT", "")}`;
    expect((await send(tunnel, { maxBytes: 10_000 })).back.length).toBeLessThan(200_000);
    expect((await send("CONNECT localhost:PORT HTTP/1.1\nHost: a\n\n", { idleMs: 300 })).status).toBe("200");
  });

  it("A registry proxy answers if the host is not there", async () => {
    const gone = createTcpServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port: free } = gone.address() as AddressInfo;
    gone.close();
    const over = { registries: [`localhost:${free}`] };
    expect((await send(`CONNECT localhost:${free} HTTP/1.1\nHost: a\n\n`, over)).status).toBe("502");
    const plain = `GET http://localhost:${free}/ HTTP/1.1\nHost: a\nConnection: close\n\n`;
    expect((await send(plain, over)).status).toBe("502");
  });

  it("A registry proxy has nothing but the usual ports for a host without one", async () => {
    const over = { registries: ["localhost"] };
    for (const request of [
      `CONNECT localhost:${elsewhere}`,
      `GET http://localhost:${elsewhere}/`,
      "CONNECT localhost:80",
    ])
      expect((await send(`${request} HTTP/1.1\nHost: a\nConnection: close\n\n`, over)).status).toBe("403");
  });

  it("A registry proxy leaves no socket behind", async () => {
    const proxy = await startRegistryProxy({ registries: [] });
    const socket = connect(join(proxy.folder, "proxy"));
    await once(socket, "connect");
    const closed = once(socket, "close");
    await proxy[Symbol.asyncDispose]();
    await closed;
    expect(existsSync(proxy.folder)).toBe(false);
  });

  describe("a registry proxy behind a proxy", () => {
    const asked: string[] = [];
    let outer: Server;
    beforeAll(async () => {
      outer = createServer((request, answer) => {
        asked.push(`${request.url} ${request.headers["proxy-authorization"]}`);
        answer.end("through");
      }).listen(0, "127.0.0.1");
      outer.on("connect", (request, near, head) => {
        asked.push(`${request.url} ${request.headers["proxy-authorization"]}`);
        if (request.url?.startsWith("closed")) return near.end("HTTP/1.1 407 No\r\n\r\n");
        near.write("HTTP/1.1 200 OK\r\n\r\n");
        const far = connect(port, "127.0.0.1");
        far.write(head);
        return near.pipe(far).pipe(near);
      });
      await once(outer, "listening");
      const url = `http://me:p%40ss@127.0.0.1:${(outer.address() as AddressInfo).port}`;
      rememberProxies({ https: url, http: url, no: `localhost:${port}` });
    });
    afterAll(() => {
      rememberProxies({ https: null, http: null, no: null });
      outer.close();
    });
    const credentials = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
    const registries = ["registry.example", "closed.example"];

    it("A registry proxy behind a proxy uses it with the server's own credentials", async () => {
      const plain = "GET http://registry.example/a HTTP/1.1\nHost: a\nConnection: close\n\n";
      expect((await send(plain, { registries })).back).toContain("through");
      const inner = "GET /b HTTP/1.1\nHost: a\nConnection: close\n\n";
      const tunnel = await send(`CONNECT registry.example:443 HTTP/1.1\nHost: a\n\n${inner}`, { registries });
      expect(tunnel.back).toContain("packages at /b");
      expect(asked).toEqual([
        `http://registry.example/a ${credentials}`,
        `registry.example:443 ${credentials}`,
      ]);
      const closed = await send("CONNECT closed.example:443 HTTP/1.1\nHost: a\n\n", { registries });
      expect(closed.back).toBe("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
    });

    it("A registry proxy behind a proxy reaches hosts of NO_PROXY directly", async () => {
      asked.length = 0;
      const plain = await send("GET http://localhost:PORT/c HTTP/1.1\nHost: a\nConnection: close\n\n");
      expect(plain.back).toContain("packages at /c");
      expect(asked).toEqual([]);
    });
  });
});
