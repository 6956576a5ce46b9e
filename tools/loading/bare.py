"""The shortest server that one would write: aiohttp around `tf.saved_model.load`."""

import json
import sys

import tensorflow as tf
from aiohttp import web


def main(folder):
    model = tf.saved_model.load(folder)
    answer = model.signatures["serving_default"]

    async def predict(request):
        rows = json.loads(await request.read())["instances"]
        (outputs,) = answer(tf.constant(rows, tf.float32)).values()
        return web.json_response({"predictions": outputs.numpy().tolist()})

    app = web.Application()
    app.router.add_post("/v1/models/load:predict", predict)

    async def started(_):
        print("REST at http://127.0.0.1:%d" % runner.addresses[0][1], flush=True)

    async def serve():
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await started(app)
        await asyncio.Event().wait()

    import asyncio

    runner = web.AppRunner(app, access_log=None)
    asyncio.run(serve())


if __name__ == "__main__":
    main(sys.argv[1])
