import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The reviewer's instructions. The same for every review, so that a provider's prompt cache holds them. */
export const systemPrompt = readFileSync(join(import.meta.dirname, "system.md"), "utf8");

/** Short hash of the instructions: two reviews with the same one were asked the same way. */
export const promptVersion = createHash("sha256").update(systemPrompt).digest("hex").slice(0, 8);
