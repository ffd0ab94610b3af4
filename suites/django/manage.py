import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.getcwd())

from django.core.management import execute_from_command_line

execute_from_command_line(sys.argv)
