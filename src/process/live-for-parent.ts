import { keepProgramsInThisGroup, killGroup } from "../git/run-process.ts";
import { watchParent } from "./watch-parent.ts";

/**
 * Ties this process to the one that started it. The parent kills its group: git and ripgrep end with it however it ends.
 *
 * @param fail told of what nobody caught
 */
export function liveForParent(fail: (error: unknown) => void): void {
  keepProgramsInThisGroup();
  watchParent();
  // Without a parent there is nobody to answer, and nobody to end a process that hangs.
  process.on("disconnect", () => {
    killGroup(process, "SIGKILL");
    process.exit(1);
  });
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
}
