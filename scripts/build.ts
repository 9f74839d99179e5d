/** `npm run build`: builds the shipped program in `dist/`; with `--here`, only for this platform. */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import { platformsHere } from "./grammars.ts";

const folder = join(import.meta.dirname, "../dist");
await rm(folder, { recursive: true, force: true });
await bundle(folder, process.argv.includes("--here") ? { only: platformsHere } : {});
await chmod(join(folder, "cli.js"), 0o755);
