import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** The store that GitHub redirects downloads of artifacts to: a server of its own, on another origin. */
export interface ArtifactStore extends AsyncDisposable {
  /** Keeps a file, and returns its signed address. */
  keep(file: Buffer): string;
  readonly port: number;
  readonly requests: { path: string; headers: IncomingHttpHeaders }[];
}

export async function startArtifactStore(): Promise<ArtifactStore> {
  const files: Buffer[] = [];
  const requests: ArtifactStore["requests"] = [];
  const server = createServer(({ url = "/", headers }, response) => {
    requests.push({ path: url, headers });
    const file = files[Number(/^\/(\d+)\?sig=/.exec(url)?.[1] ?? -1)];
    response.writeHead(file ? 200 : 403, { "content-type": "application/zip" }).end(file);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, requests },
    keep: (file) => `http://127.0.0.1:${port}/${files.push(file) - 1}?sig=canary-of-the-address`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
