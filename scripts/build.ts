/** `npm run build`: builds the shipped program in `dist/`. */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

const folder = join(import.meta.dirname, "../dist");
await rm(folder, { recursive: true, force: true });
await bundle(folder);
await chmod(join(folder, "cli.js"), 0o755);
