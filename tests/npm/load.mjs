// Modules resolve from the folder of the file that imports them, so the one file
// that imports packages by name lives beside node_modules.
import { fileURLToPath } from 'node:url';

export const load = (specifier) => import(specifier);

export const packageFile = (path) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
