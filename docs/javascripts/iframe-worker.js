/* Search for a site that is read from a folder. A browser starts no worker from a file, so there the theme's search runs
   in a hidden frame that answers as a worker does. On a server nothing changes. */

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.started = new Promise((resolve, reject) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = (...addresses) => Promise.all(addresses.map((one) => loaded(inside, one)));
          loaded(inside, address).then(() => resolve(inside), reject);
        });
      });
      frame.srcdoc = "<!doctype html><title>search</title>";
      document.body.append(frame);
      this.frame = frame;
    }

    postMessage(data) {
      this.started.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };

  const loaded = (inside, address) =>
    new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(`${address} cannot be loaded`)));
      script.src = address;
      inside.document.head.append(script);
    });
}
