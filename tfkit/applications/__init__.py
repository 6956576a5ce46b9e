"""Published image classifiers, by family; loaded when `tfkit.applications` is first used."""

from tfkit.applications import imagenet_utils as imagenet_utils
from tfkit.applications import vgg16 as vgg16
from tfkit.applications import vgg19 as vgg19
from tfkit.src.applications.vgg import VGG16 as VGG16
from tfkit.src.applications.vgg import VGG19 as VGG19
