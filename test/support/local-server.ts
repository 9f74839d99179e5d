import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server on 127.0.0.1, without a slash at the end of its address. */
export interface LocalServer {
  port: number;
  origin: string;
  /** Also ends connections that are open. */
  close(): Promise<void>;
}

/** Starts a server on 127.0.0.1; port 0 is any free one. */
export async function listenHere(server: Server, port = 0): Promise<LocalServer> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: taken } = server.address() as AddressInfo;
  return {
    ...{ port: taken, origin: `http://127.0.0.1:${taken}` },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
