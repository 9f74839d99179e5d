import { blocking } from "./rows/blocking.ts";
import { later } from "./rows/later.ts";
import { next } from "./rows/next.ts";
import type { Row } from "./rows/row.ts";

/** Every row of the table of faults and attacks, by urgency. */
export const rows: readonly Row[] = [blocking, next, later].flatMap((group, at) =>
  group.map((row): Row => ({ ...row, priority: at as Row["priority"] })),
);
