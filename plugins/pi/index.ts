// The extension itself is part of the program, which installs it (`recollect install --agent pi`). From a clone it can
// be loaded in place: `pi install <clone>/plugins/pi`, or `pi -e <clone>/plugins/pi/index.ts`.
export { default } from "../../src/recollect/agents/pi.ts";
