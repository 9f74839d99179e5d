/** A model that answers at once, in a separate process, so that it takes no time from the measured one. */
import { startFakeOpenAi } from "../../test/support/fake-openai.ts";
import { instantReviewer } from "./instant-reviewer.ts";

const model = await startFakeOpenAi({ script: instantReviewer });
process.on("disconnect", () => process.exit());
process.send?.(model.url);
