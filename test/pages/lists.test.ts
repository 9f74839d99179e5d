import { describe } from "vitest";
import { describePages } from "../contract/pages.ts";
import { ownDatabase } from "./rendered.ts";

describe("the pages over SQLite", () =>
  describePages(async () => {
    const own = await ownDatabase();
    return {
      ...own,
      plan: async (sql, parameters) =>
        (await own.reader.run(`EXPLAIN QUERY PLAN ${sql}`, parameters)).rows.map(({ detail }) =>
          String(detail),
        ),
    };
  }));
