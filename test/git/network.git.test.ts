import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { checkout } from "../../src/git/checkout.ts";
import { gitEnvironment, type Network, networkVariables } from "../../src/git/run-git.ts";
import { baseRef, PullRequestServer, pullRef } from "../support/pull-request-server.ts";

/** Fetches a pull request through this network and returns how often the proxy was asked. */
async function askedThrough(network: (proxy: string) => Network): Promise<number> {
  await using server = await PullRequestServer.start();
  const shas = server.publish();
  let asked = 0;
  const proxy = createServer((request, response) => {
    asked++;
    const { method, headers, url = "" } = request;
    const onward = forward(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const mirror = await server.mirror({ network: network(address) });
    const [head, base] = [
      { sha: shas.head, ref: pullRef },
      { sha: shas.base, ref: baseRef },
    ];
    await (await checkout({ mirror, head, base, authorization: null })).release();
    return asked;
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
}

describe("a fetch", () => {
  it("goes through the proxy it is given", async () => {
    expect(await askedThrough((proxy) => ({ allowHttp: true, proxy }))).toBeGreaterThan(0);
  });

  it("goes past it to hosts that need none", async () => {
    expect(await askedThrough((proxy) => ({ allowHttp: true, proxy, noProxy: "127.0.0.1" }))).toBe(0);
  });

  it("alone knows of proxy and certificates", () => {
    const network = { proxy: "http://proxy:3128", noProxy: "localhost", caFile: "/ca.pem" };
    expect(networkVariables(network)).toMatchObject({
      HTTPS_PROXY: network.proxy,
      GIT_SSL_CAINFO: "/ca.pem",
    });
    const others = gitEnvironment({ gitPath: "/usr/bin/git", emptyHome: "/empty" }, network);
    expect(JSON.stringify(others)).not.toMatch(/proxy|ca\.pem/i);
    expect(others).toMatchObject({ GIT_ALLOW_PROTOCOL: "https", GIT_NO_LAZY_FETCH: "1", HOME: "/empty" });
  });
});
