"""Trains, draws, saves, reloads and exports a model, and runs the export without Python TensorFlow.

Start it with ./tools/demo, which makes the environment first.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import vae_mnist
from PIL import Image
from sklearn.datasets import load_digits

import tfkit as keras
from tfkit.src.export import c_api

LATENT_DIM = 32
KL_WEIGHT = LATENT_DIM / (28 * 28)  # makes divergence and pixels of MNIST count as sums, not means
DRAWN = 16  # digits in a row of the picture


def load_images(limit):
    """Returns rows of pixels from 0 to 1, for training and for the test."""
    try:
        (x_train, _), (x_test, _) = keras.datasets.mnist.load_data()
    except FileNotFoundError as error:
        print(
            f"{error}\n\nGoing on with small digits of scikit-learn, 1,500 of them 40 times over."
        )
        images = load_digits().data.astype("float32") / 16
        return np.tile(images[:1500], (40, 1))[:limit], images[1500:]  # as many steps as MNIST
    return vae_mnist.to_pixels(x_train[:limit]), vae_mnist.to_pixels(x_test[:limit])


def title(text):
    print(f"\n== {text}", flush=True)


def train(images, options, kl_weight):
    keras.utils.set_random_seed(0)
    start = time.perf_counter()
    vae, history = vae_mnist.train(images, options.epochs, options.batch_size, kl_weight)
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, loss of the last epoch {history.history['loss'][-1]:.4f}")
    return vae


def draw(path, *rows):
    """Draws rows of digits one below the other, enlarged to tiles of at least 56 pixels."""
    side = round(rows[0].shape[1] ** 0.5)
    grid = np.vstack([np.hstack(list(row.reshape(-1, side, side))) for row in rows])
    zoom = -(-56 // side)
    pixels = np.kron(np.round(grid * 255).astype("uint8"), np.ones((zoom, zoom), "uint8"))
    Image.fromarray(pixels).save(path)


def save_and_reload(vae, path, images):
    vae.save(path)
    print(f"saved {path}: {path.stat().st_size:,} bytes")
    restored = keras.models.load_model(path)
    # Drawing z advances the state of the seed, which was saved too: the first calls must be equal.
    if not np.array_equal(vae.predict(images, verbose=0), restored.predict(images, verbose=0)):
        sys.exit("error: the reloaded model returns different numbers")
    print(f"reloaded: its outputs for {len(images):,} test images are equal, bit for bit")


def export_and_compare(vae, folder, codes, out):
    """Exports the decoder and runs it without importing TensorFlow; returns its images."""
    latent = keras.Input((codes.shape[1],), name="latent")
    decoder = keras.Model(latent, vae.decoder(latent))
    decoder.export(folder)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"exported {folder}: {size:,} bytes")

    files = {"--inputs": out / "codes.npz", "--outputs": out / "drawn.npz"}
    np.savez(files["--inputs"], latent=codes)
    program = Path(c_api.__file__).parent
    runner = [sys.executable, "-I", program, folder]  # -I: no modules from other folders
    start = time.perf_counter()
    arguments = [part for pair in files.items() for part in pair]
    # The C library logs about itself; what it prints is shown only if it fails.
    done = subprocess.run([*runner, *arguments], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    seconds = time.perf_counter() - start
    with np.load(files["--outputs"]) as outputs:
        (drawn,) = (outputs[name] for name in outputs.files)
    for file in files.values():
        file.unlink()
    difference = np.abs(drawn - decoder.predict(codes, verbose=0)).max()
    if not difference < 1e-5:
        sys.exit(f"error: the exported decoder differs by {difference}")
    print(
        f"ran it through TensorFlow's C library in a separate process: {seconds:.1f} s including the "
        f"start, {len(codes):,} digits, largest difference {difference:.1e}"
    )
    return drawn


def main():
    parser = argparse.ArgumentParser(description="Trains, saves, reloads and exports a VAE.")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--limit", type=int, help="use the first images only")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    title("Digits")
    x_train, x_test = load_images(options.limit)
    dim = x_train.shape[1]
    print(f"{len(x_train):,} images to train on, {len(x_test):,} to test, {dim} pixels each")

    title(f"The guide's autoencoder: {dim} pixels to {LATENT_DIM} numbers and back")
    train(x_train, options, kl_weight=1.0)

    title(f"The same with the divergence weighted by {KL_WEIGHT:.3f}: with 1 all digits look alike")
    vae = train(x_train, options, KL_WEIGHT)

    title("Save and reload")
    save_and_reload(vae, options.out / "vae.h5", x_test[:1000])

    title("Export the decoder and generate digits from the prior")
    codes = np.random.default_rng(0).normal(size=(DRAWN, LATENT_DIM)).astype("float32")
    drawn = export_and_compare(vae, options.out / "decoder", codes, options.out)

    title("The picture")
    picture = options.out / "digits.png"
    draw(picture, x_test[:DRAWN], vae.predict(x_test[:DRAWN], verbose=0), drawn)
    print(f"{picture}: test digits, their reconstructions, digits generated from noise")


if __name__ == "__main__":
    main()
