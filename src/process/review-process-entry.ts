/** Entry of the review process: everything else is loaded once Node knows where it keeps compiled code. */
import { keepCompiledCode } from "./compile-cache.ts";

keepCompiledCode();
await import("./review-process.ts");
