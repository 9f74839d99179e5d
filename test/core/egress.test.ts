import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEgress, type EgressOptions, type Outgoing, reachOfHost } from "../../src/core/egress.ts";
import { AppError } from "../../src/core/errors.ts";
import { holdsLiveSecret, registerSecret } from "../../src/core/secrets/live-secrets.ts";
import { seeded } from "../support/seeded.ts";

const home = "https://api.example.com";

/** A `fetch` that answers by address and notes what reached it. */
function network(answers: Record<string, () => Response>) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = (async (input: URL, init: RequestInit) => {
    asked.push({ url: input.href, init });
    return answers[input.href]?.() ?? new Response("ok");
  }) as unknown as typeof globalThis.fetch;
  return { asked, fetch, urls: () => asked.map(({ url }) => url) };
}

const redirect = (status: number, location: string) => () =>
  new Response(null, { status, headers: { location } });

function egress(over: Partial<EgressOptions>) {
  return createEgress({
    ...{ origins: [home], timeoutMs: 10_000, mostRedirects: 2 },
    answer: { bytes: 1_000_000, depth: 20, elements: 1_000, members: 100 },
    holdsSecret: holdsLiveSecret,
    refuse: (what) => new AppError("not_allowed", `The far side ${what}`),
    ...over,
  });
}

describe("a request", () => {
  it("A request reaches the named origins alone", async () => {
    const { fetch, urls } = network({});
    const send = egress({ origins: [home, "http://127.0.0.1:1234/v1"], fetch });
    await send(`${home}/a`);
    await send("http://127.0.0.1:1234/other");
    for (const elsewhere of [
      ...["http://api.example.com/", "https://api.example.com:444/", "https://api.example.com.evil.test/"],
      ...["https://api.example.com@evil.test/", "http://169.254.169.254/latest/meta-data", "http://[::1]/"],
      ...["file:///etc/passwd", "data:text/plain,x", "http://127.0.0.1/v1", "blob:https://api.example.com/x"],
    ])
      await expect(send(elsewhere), elsewhere).rejects.toThrow("another origin");
    expect(urls()).toEqual([`${home}/a`, "http://127.0.0.1:1234/other"]);
  });

  it("A request is looked at before it leaves, and again where a redirect leads", async () => {
    const { fetch, urls } = network({ [`${home}/a`]: redirect(307, "/b") });
    const seen: Outgoing[] = [];
    const check = (one: Outgoing) => {
      seen.push(one);
      if (one.url.pathname === "/b") throw new AppError("not_allowed", "No");
    };
    const sent = egress({ fetch, check })(`${home}/a`, { method: "POST", body: "x" });
    await expect(sent).rejects.toThrow("No");
    expect(seen.map(({ method, url, body }) => `${method} ${url.pathname} ${body}`)).toEqual([
      "POST /a x",
      "POST /b x",
    ]);
    expect(urls()).toEqual([`${home}/a`]);
  });

  it("A request whose body nobody can look at is not sent", async () => {
    const { fetch, asked } = network({});
    const send = egress({ fetch });
    await expect(send(home, { method: "POST", body: new Blob(["x"]) })).rejects.toThrow(TypeError);
    await expect(send(new Request(home, { method: "POST", body: "x" }))).rejects.toThrow(TypeError);
    expect(asked).toEqual([]);
  });

  it("A request that holds a secret of this process is not sent", async () => {
    const { fetch, asked } = network({});
    const secret = "whsec-7f3a9c2e51d84b06";
    registerSecret(secret);
    const forms = [secret, Buffer.from(secret).toString("base64"), secret.split("").join(" ")];
    for (const form of forms) {
      const sent = egress({ fetch })(home, { method: "POST", body: JSON.stringify({ body: form }) });
      await expect(sent, form).rejects.toThrow("a secret of this server");
      await expect(sent.catch(String), form).resolves.not.toContain(secret);
    }
    expect(asked).toEqual([]);
  });
});

describe("an answer", () => {
  const answered = async (body: string | ReadableStream<Uint8Array>) => {
    const { fetch } = network({ [`${home}/`]: () => new Response(body) });
    return (await egress({ origins: [home], fetch })(home)).text();
  };

  it("An answer comes as it is up to each limit, however it is cut in pieces", async () => {
    const texts = [
      "x".repeat(1_000_000),
      "[".repeat(20),
      "[]".repeat(1_000),
      ",".repeat(1_000),
      `{${'"a":1'.repeat(100)}}`,
      // Nothing of it is outside of a text.
      `"${'[{,:\\"'.repeat(10_000)}"`,
    ];
    const random = seeded(7);
    for (const text of texts) {
      const bytes = Buffer.from(text);
      const pieces = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0, end = 0; at < bytes.length; at = end) {
            end = at + 1 + Math.floor(random() * bytes.length * 0.1);
            controller.enqueue(bytes.subarray(at, end));
          }
          controller.close();
        },
      });
      expect(await answered(text)).toBe(text);
      expect(await answered(pieces)).toBe(text);
    }
  });

  it.each([
    ["bytes", "x".repeat(1_000_001), "more than 1 MB"],
    ["bytes of a text", `"${"é".repeat(500_000)}"`, "more than 1 MB"],
    ["depth", "[".repeat(21), "too deep"],
    ["depth behind texts", `["a\\\\",${"{".repeat(20)}`, "too deep"],
    ["elements", `[${"0,".repeat(1_000)}`, "too many values"],
    ["lists", "[]".repeat(1_001), "too many values"],
    ["members", `{${'"a":1'.repeat(101)}`, "too many values"],
    ["digits", `[${"9".repeat(1_001)}]`, "a number that is too long"],
  ])("An answer ends where it is beyond a limit: %s", async (_, body, why) => {
    await expect(answered(body)).rejects.toMatchObject({
      code: "not_allowed",
      retryable: false,
      message: expect.stringContaining(why),
    });
  });

  it("An answer without a body is one", async () => {
    const { fetch } = network({ [`${home}/`]: () => new Response(null, { status: 204 }) });
    expect((await egress({ origins: [home], fetch })(home)).status).toBe(204);
  });
});

describe("a redirect", () => {
  it.each([301, 302, 303, 307, 308])("A redirect to another origin is refused (%i)", async (status) => {
    const { fetch, urls } = network({ [`${home}/a`]: redirect(status, "https://evil.test/") });
    const headers = { authorization: "Bearer x", "api-key": "x" };
    await expect(egress({ fetch })(`${home}/a`, { headers })).rejects.toThrow("https://evil.test");
    expect(urls()).toEqual([`${home}/a`]);
  });

  it("A redirect within the origin is followed as often as was asked for", async () => {
    const answers = { [`${home}/a`]: redirect(307, "/b"), [`${home}/b`]: redirect(308, `${home}/c`) };
    const { fetch, asked, urls } = network(answers);
    const init = { method: "POST", body: "x", headers: { "api-key": "k" } };
    const answer = await egress({ fetch })(`${home}/a`, init);
    expect(await answer.text()).toBe("ok");
    expect(urls()).toEqual(["a", "b", "c"].map((path) => `${home}/${path}`));
    expect(asked.at(-1)?.init).toMatchObject(init);
    await expect(egress({ fetch, mostRedirects: 1 })(`${home}/a`, init)).rejects.toThrow("too often");
  });

  it.each(["GET", "HEAD"])(
    "A redirect is followed with any status by a request that only reads (%s)",
    async (method) => {
      for (const status of [301, 302, 303, 307, 308]) {
        const { fetch, asked, urls } = network({ [`${home}/a`]: redirect(status, "/b") });
        await egress({ fetch })(`${home}/a`, { method });
        expect(urls()).toEqual([`${home}/a`, `${home}/b`]);
        expect(asked.at(-1)?.init.method).toBe(method);
      }
    },
  );

  it("A redirect that would make another request of it, or leads nowhere, is refused", async () => {
    const answers = {
      [`${home}/a`]: redirect(302, "/b"),
      [`${home}/c`]: () => new Response(null, { status: 302 }),
      [`${home}/d`]: redirect(302, "https://["),
    };
    const { fetch } = network(answers);
    await expect(egress({ fetch })(`${home}/a`, { method: "POST" })).rejects.toThrow("cannot be followed");
    for (const path of ["c", "d"])
      await expect(egress({ fetch })(`${home}/${path}`)).rejects.toThrow("cannot be followed");
  });
});

describe("over a real connection", () => {
  const visited: string[] = [];
  const packed: Record<string, (bytes: Buffer) => Buffer> = {
    ...{ gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync },
  };
  const elsewhere = createServer((request, response) => {
    visited.push(request.url ?? "");
    response.end();
  });
  const server = createServer((request, response) => {
    if (request.url === "/away") response.writeHead(302, { location: originOf(elsewhere) }).end();
    else if (request.url?.startsWith("/bomb?")) {
      const encoding = request.url.slice("/bomb?".length);
      response
        .writeHead(200, { "content-encoding": encoding })
        .end(packed[encoding]?.(Buffer.alloc(5_000_000)));
    }
    // Never the end of it.
    else response.writeHead(200).write("the beginning");
  });
  const servers = [server, elsewhere];
  const originOf = (one: typeof server) => `http://127.0.0.1:${(one.address() as AddressInfo).port}`;
  beforeAll(async () => {
    for (const one of servers) await new Promise<void>((done) => one.listen(0, "127.0.0.1", done));
  });
  afterAll(() => {
    for (const one of servers) {
      one.closeAllConnections();
      one.close();
    }
  });

  it("A redirect is followed by nobody else on the way", async () => {
    const home = originOf(server);
    await expect(egress({ origins: [home] })(`${home}/away`)).rejects.toThrow("another origin");
    expect(visited).toEqual([]);
  });

  it.each(["gzip", "br", "deflate"] as const)(
    "An answer that unpacks to more than its limit is not unpacked further (%s)",
    async (encoding) => {
      const home = originOf(server);
      const answer = await egress({ origins: [home] })(`${home}/bomb?${encoding}`);
      await expect(answer.text()).rejects.toThrow("more than 1 MB");
    },
  );

  it("The time-out also ends an answer that never ends", async () => {
    const home = originOf(server);
    const answer = await egress({ origins: [home], timeoutMs: 200 })(home);
    await expect(answer.text()).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe("the reach of a host", () => {
  const reachOf = (host: string) => reachOfHost(new URL(`http://${host}`).hostname);

  it.each([
    "localhost",
    "LOCALHOST.",
    "app.localhost",
    "127.0.0.1",
    "127.1",
    "0x7f000001",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
  ])("The reach of a host of %s is this machine", (host) => expect(reachOf(host)).toBe("machine"));

  it.each([
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "[fd00::1]",
    "[fe80::1]",
  ])("The reach of a host of %s is a network", (host) => expect(reachOf(host)).toBe("network"));

  it.each(["build-server", "hunk.local", "hunk.internal", "hunk.home.arpa", "nas.lan."])(
    "The reach of a host of the name %s is a network",
    (host) => expect(reachOf(host)).toBe("network"),
  );

  it.each([
    "github.com",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "11.0.0.1",
    "[2606:4700::1]",
    "local.example.com",
    "localhost.example.com",
    "127.0.0.1.nip.io",
    "10.example.com",
  ])("The reach of a host of %s is the internet", (host) => expect(reachOf(host)).toBe("internet"));
});
