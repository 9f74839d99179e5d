import { openSqliteStores } from "./open-stores.ts";
import type { Spending } from "./spending.ts";

/** The accounts of `openSqliteStores` by themselves. */
export const openSqliteSpending = (dataFolder: string): Spending => openSqliteStores(dataFolder).spending;
