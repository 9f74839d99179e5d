import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server that loses answers on request. */
export interface LossyProxy extends AsyncDisposable {
  port: number;
  /** The next request with this text reaches the server; the answer is lost and the connection breaks. */
  loseAnswerTo(text: string): void;
  /** Each connection delivers at most this many bytes of its answers, and stays open. */
  stallAfter(bytes: number): void;
}

export async function lossyProxy(target: { host: string; port: number }): Promise<LossyProxy> {
  let doomed: string | undefined;
  let most = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target);
    let isLost = false;
    let passed = 0;
    client.on("data", (data) => {
      if (doomed !== undefined && data.includes(doomed)) [doomed, isLost] = [undefined, true];
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (isLost) client.destroy();
      else client.write(data.subarray(0, Math.max(0, most - passed)));
      passed += data.length;
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    loseAnswerTo(text) {
      doomed = text;
    },
    stallAfter(bytes) {
      most = bytes;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
