import { nameBytes } from "../names.ts";

/** git's order of paths: that of their bytes. */
export const byPathBytes = (left: string, right: string) => Buffer.compare(nameBytes(left), nameBytes(right));
