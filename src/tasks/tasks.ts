import { answerTask } from "./answer/answer-input.ts";
import { fixTask } from "./fix/fix-input.ts";
import { proveTask } from "./prove/prove-input.ts";
import { reviewTask } from "./review/review-task.ts";

/** The tasks of review processes. `border/child-tasks.ts` holds their work. */
export const tasks = [reviewTask, answerTask, fixTask, proveTask] as const;

export type TaskName = (typeof tasks)[number]["name"];
export const taskNames = tasks.map(({ name }) => name);
