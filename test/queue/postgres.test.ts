import { describeStores } from "../contract/describe-stores.ts";
import { onPostgres } from "../contract/stores.ts";

describeStores("in Postgres", onPostgres);
